// Pinocchio's algorithms in a loop over states, compiled for this processor; states are rows.
//
// Every function takes (robot, way, number of states, q, v, x, out). Where Pinocchio has several ways to one result, `way`
// chooses. Results are copied out as they lie in Pinocchio's memory, or, where out is null, left there.
#include <sstream>

// Its data have four tensors of nv³ numbers for second derivatives of rnea, which nothing here asks for: 32 GB for a
// thousand joints. They are left empty.
#define d2tau_dqdq(...) d2tau_dqdq(0, 0, 0)
#define d2tau_dvdv(...) d2tau_dvdv(0, 0, 0)
#define d2tau_dqdv(...) d2tau_dqdv(0, 0, 0)
#define d2tau_dadq(...) d2tau_dadq(0, 0, 0)

#include "pinocchio_reader.hpp"

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/centroidal.hpp>
#include <pinocchio/algorithm/cholesky.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

namespace {

using Vector = Eigen::VectorXd;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Matrix6x = Eigen::Matrix<double, 6, Eigen::Dynamic>;

struct Robot {
  pinocchio::Model model;
  pinocchio::Data data;
  pinocchio::FrameIndex tip;
  Vector rest;
  Matrix6x J, JMinv;
  Eigen::Matrix<double, Eigen::Dynamic, 6> X, DX;
  explicit Robot(const bench::Read& read)
      : model(read.model), data(read.model), tip(read.tip), rest(Vector::Zero(read.model.nv)), J(6, read.model.nv),
        JMinv(6, read.model.nv), X(read.model.nv, 6), DX(read.model.nv, 6) {
    J.setZero();  // columns beside the path to the tip stay so
  }
};

// The arguments of one state, and where its results go.
struct State {
  Eigen::Map<const Vector> q, v, x;
  double* out;

  template <class Matrix>
  void keep(const Matrix& found) {
    if (!out) return;
    Eigen::Map<typename Matrix::PlainObject>(out, found.rows(), found.cols()) = found;
    out += found.size();
  }
};

template <class Evaluate>
void over_states(void* robot, long n, const double* q, const double* v, const double* x, double* out, Evaluate evaluate) {
  auto& r = *static_cast<Robot*>(robot);
  const long nq = r.model.nq, nv = r.model.nv;
  double* next = out;
  for (long i = 0; i < n; i++) {
    State s{{q + i * nq, nq}, {v + (v ? i * nv : 0), v ? nv : 0}, {x + (x ? i * nv : 0), x ? nv : 0}, next};
    evaluate(r, s);
    next = s.out;
  }
}

pinocchio::Convention convention(int way) {
  return way ? pinocchio::Convention::WORLD : pinocchio::Convention::LOCAL;
}

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))
#define FUNCTION(name)                                                                                          \
  static void name##_of(Robot& r, State& s, int way);                                                           \
  PUBLIC void name(void* robot, int way, long n, const double* q, const double* v, const double* x, double* out) { \
    over_states(robot, n, q, v, x, out, [way](Robot& r, State& s) { name##_of(r, s, way); });                   \
  }                                                                                                             \
  static void name##_of([[maybe_unused]] Robot& r, State& s, [[maybe_unused]] int way)

PUBLIC void* make_robot(const char* text) {
  std::istringstream in(text);
  return new Robot(bench::read(in));
}

PUBLIC void free_robot(void* robot) { delete static_cast<Robot*>(robot); }

FUNCTION(forward_dynamics) { s.keep(pinocchio::aba(r.model, r.data, s.q, s.v, s.x, convention(way))); }

FUNCTION(inverse_dynamics) { s.keep(pinocchio::rnea(r.model, r.data, s.q, s.v, s.x)); }

FUNCTION(mass_matrix) { s.keep(pinocchio::crba(r.model, r.data, s.q, convention(way))); }

FUNCTION(mass_matrix_inverse) { s.keep(pinocchio::computeMinverse(r.model, r.data, s.q)); }

FUNCTION(linearize_inverse) {
  pinocchio::computeRNEADerivatives(r.model, r.data, s.q, s.v, s.x);
  s.keep(r.data.M);
  s.keep(r.data.dtau_dv);
  s.keep(r.data.dtau_dq);
}

FUNCTION(linearize_forward) {
  pinocchio::computeABADerivatives(r.model, r.data, s.q, s.v, s.x);
  s.keep(r.data.Minv);
  s.keep(r.data.ddq_dv);
  s.keep(r.data.ddq_dq);
}

FUNCTION(coriolis_matrix) { s.keep(pinocchio::computeCoriolisMatrix(r.model, r.data, s.q, s.v)); }

FUNCTION(centroidal_matrix) { s.keep(pinocchio::computeCentroidalMap(r.model, r.data, s.q)); }

FUNCTION(jacobian) {
  pinocchio::computeFrameJacobian(r.model, r.data, s.q, r.tip, pinocchio::LOCAL_WORLD_ALIGNED, r.J);
  s.keep(r.J);
}

FUNCTION(jacobian_dot_v) {
  pinocchio::forwardKinematics(r.model, r.data, s.q, s.v, r.rest);
  pinocchio::updateFramePlacement(r.model, r.data, r.tip);
  const auto a = pinocchio::getFrameClassicalAcceleration(r.model, r.data, r.tip, pinocchio::LOCAL_WORLD_ALIGNED);
  s.keep(a.toVector());
}

// A rotation by columns, then the position, of every frame but the first, which is Pinocchio's own.
FUNCTION(frame_poses) {
  pinocchio::framesForwardKinematics(r.model, r.data, s.q);
  for (size_t k = 1; k < r.data.oMf.size(); k++) {
    s.keep(r.data.oMf[k].rotation());
    s.keep(r.data.oMf[k].translation());
  }
}

// Through the inverse mass matrix, or through the sparse factors of the mass matrix.
FUNCTION(operational_inertia) {
  pinocchio::computeFrameJacobian(r.model, r.data, s.q, r.tip, pinocchio::LOCAL_WORLD_ALIGNED, r.J);
  Matrix6 compliance;
  if (way == 0) {
    pinocchio::computeMinverse(r.model, r.data, s.q);
    r.JMinv.noalias() = r.J * r.data.Minv.selfadjointView<Eigen::Upper>();
    compliance.noalias() = r.JMinv * r.J.transpose();
  } else {
    pinocchio::crba(r.model, r.data, s.q);
    pinocchio::cholesky::decompose(r.model, r.data);
    r.X = r.J.transpose();
    pinocchio::cholesky::Uiv(r.model, r.data, r.X);
    r.DX = r.data.Dinv.asDiagonal() * r.X;
    compliance.noalias() = r.X.transpose() * r.DX;
  }
  s.keep(Matrix6(compliance.llt().solve(Matrix6::Identity())));
}
