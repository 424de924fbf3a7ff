// Pinocchio's constrained dynamics in a loop over states, compiled for this processor; states are rows.
// The robot as bench::read takes it, then the number of loops, and for each: 3 or 6, then joint, R, p of both frames.
#include <sstream>

#include "pinocchio_reader.hpp"

#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>

namespace {

using namespace pinocchio;
using In = Eigen::Map<const Eigen::VectorXd>;
using Out = Eigen::Map<Eigen::VectorXd>;
using OutMatrix = Eigen::Map<Eigen::MatrixXd>;
using Loops = std::vector<RigidConstraintModel>;
using LoopData = std::vector<RigidConstraintData>;

Loops read_loops(std::istream& in, const Model& model) {
  Loops loops;
  int count;
  in >> count;
  for (int k = 0; k < count; k++) {
    int size, joint[2];
    SE3 at[2];
    in >> size;
    for (int side = 0; side < 2; side++) {
      in >> joint[side];
      const auto R = bench::numbers<3, 3>(in);
      const auto p = bench::numbers<3, 1>(in);
      at[side] = SE3(R, p);
    }
    loops.emplace_back(size == 3 ? CONTACT_3D : CONTACT_6D, model, joint[0], at[0], joint[1], at[1], LOCAL);
  }
  if (!in) throw std::invalid_argument("the loops' text is cut short");
  return loops;
}

struct Robot {
  Model model;
  Data data, own_data;  // lcaba has one of its own
  Loops loops;
  LoopData loop_data;
  ProximalSettings settings, own_settings;
  Eigen::MatrixXd by_q, by_v, by_tau, force_by_q, force_by_v, force_by_tau;
  int rows = 0;

  Robot(const Model& m, const Loops& l)
      : model(m), data(m), own_data(m), loops(l), settings(1e-12, 0.0, 1), own_settings(1e-10, 1e-6, 10) {
    for (const auto& x : loops) {
      loop_data.emplace_back(x);
      rows += x.residualSize();
    }
    initConstraintDynamics(model, data, loops, loop_data);
    computeJointMinimalOrdering(model, own_data, loops);
    for (auto* x : {&by_q, &by_v, &by_tau}) x->setZero(m.nv, m.nv);
    for (auto* x : {&force_by_q, &force_by_v, &force_by_tau}) x->setZero(rows, m.nv);
  }
};

}  // namespace

#define PUBLIC extern "C" __attribute__((visibility("default")))

PUBLIC void* make_robot(const char* text) {
  std::istringstream in(text);
  const Model model = bench::read(in).model;
  return new Robot(model, read_loops(in, model));
}

PUBLIC void forward_dynamics(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& r = *static_cast<Robot*>(robot);
  const auto& m = r.model;
  for (long i = 0; i < n; i++)
    Out(out + i * m.nv, m.nv) =
        constraintDynamics(m, r.data, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv), r.loops,
                           r.loop_data, r.settings);
}

// How lcaba softens the loops (its hint is mu = 1e-6), and how often it corrects what that leaves open.
PUBLIC void set_lcaba(void* robot, double accuracy, double mu, int most) {
  static_cast<Robot*>(robot)->own_settings = ProximalSettings(accuracy, mu, most);
}

PUBLIC void forward_dynamics_lcaba(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& r = *static_cast<Robot*>(robot);
  const auto& m = r.model;
  for (long i = 0; i < n; i++) {
    // At loops of six rows it reads the accelerations that the call before has left there.
    for (const auto& loop : r.loops)
      for (const auto joint : {loop.joint1_id, loop.joint2_id}) r.own_data.oa[joint].setZero();
    Out(out + i * m.nv, m.nv) = lcaba(m, r.own_data, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv),
                                      In(x + i * m.nv, m.nv), r.loops, r.loop_data, r.own_settings);
  }
}

PUBLIC void linearize_forward(void* robot, long n, const double* q, const double* v, const double* x, double* out) {
  auto& r = *static_cast<Robot*>(robot);
  const auto& m = r.model;
  const auto size = m.nv * m.nv;
  for (long i = 0; i < n; i++) {
    constraintDynamics(m, r.data, In(q + i * m.nq, m.nq), In(v + i * m.nv, m.nv), In(x + i * m.nv, m.nv), r.loops,
                       r.loop_data, r.settings);
    computeConstraintDynamicsDerivatives(m, r.data, r.loops, r.loop_data, r.settings, r.by_q, r.by_v, r.by_tau,
                                         r.force_by_q, r.force_by_v, r.force_by_tau);
    OutMatrix(out + 3 * i * size, m.nv, m.nv) = r.by_tau;
    OutMatrix(out + (3 * i + 1) * size, m.nv, m.nv) = r.by_v;
    OutMatrix(out + (3 * i + 2) * size, m.nv, m.nv) = r.by_q;
  }
}
