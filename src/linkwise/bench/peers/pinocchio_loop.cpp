// Pinocchio's algorithms in a loop over states, compiled for this processor; states are rows.
#include <sstream>

#include "pinocchio_reader.hpp"

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

namespace {

struct Robot {
  pinocchio::Model model;
  pinocchio::Data data;
  explicit Robot(const pinocchio::Model& m) : model(m), data(m) {}
};

using In = Eigen::Map<const Eigen::VectorXd>;
using Out = Eigen::Map<Eigen::VectorXd>;
using OutMatrix = Eigen::Map<Eigen::MatrixXd>;

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

PUBLIC void* make_robot(const char* text) {
  std::istringstream in(text);
  return new Robot(bench::read(in));
}

PUBLIC void free_robot(void* robot) { delete static_cast<Robot*>(robot); }

PUBLIC void forward_dynamics(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++)
    Out(out + i * m.nv, m.nv) =
        pinocchio::aba(m, d, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv));
}

PUBLIC void inverse_dynamics(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++)
    Out(out + i * m.nv, m.nv) =
        pinocchio::rnea(m, d, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv));
}

PUBLIC void mass_matrix(void* robot, long n, const double* q, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++)
    OutMatrix(out + i * m.nv * m.nv, m.nv, m.nv) = pinocchio::crba(m, d, In(q + i * m.nq, m.nq));
}

PUBLIC void mass_matrix_inverse(void* robot, long n, const double* q, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++)
    OutMatrix(out + i * m.nv * m.nv, m.nv, m.nv) = pinocchio::computeMinverse(m, d, In(q + i * m.nq, m.nq));
}

// The mass matrix or its inverse, then the derivatives by v and by q, one after the other.
template <class Mass, class ByVelocity, class ByConfiguration>
static void copy_out(double* out, const Mass& mass, const ByVelocity& by_v, const ByConfiguration& by_q) {
  const auto n = mass.rows();
  OutMatrix(out, n, n) = mass;
  OutMatrix(out + n * n, n, n) = by_v;
  OutMatrix(out + 2 * n * n, n, n) = by_q;
}

PUBLIC void linearize_inverse(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++) {
    pinocchio::computeRNEADerivatives(m, d, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv));
    copy_out(out + 3 * i * m.nv * m.nv, d.M, d.dtau_dv, d.dtau_dq);
  }
}

PUBLIC void linearize_forward(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& [m, d] = *static_cast<Robot*>(robot);
  for (long i = 0; i < n; i++) {
    pinocchio::computeABADerivatives(m, d, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv));
    copy_out(out + 3 * i * m.nv * m.nv, d.Minv, d.ddq_dv, d.ddq_dq);
  }
}
