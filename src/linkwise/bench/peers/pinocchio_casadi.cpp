// Pinocchio's algorithms on CasADi's symbols, written out as C: generator FUNCTION FOLDER < robot.txt
// Where Pinocchio has two ways to one result, the one with fewer operations is taken.
#include <iostream>

#include <pinocchio/autodiff/casadi.hpp>

#include "pinocchio_reader.hpp"

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/centroidal.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using S = casadi::SX;
using Vector = Eigen::Matrix<S, Eigen::Dynamic, 1>;

static Vector entries(const S& x) {
  Vector out(x.rows());
  for (int i = 0; i < x.rows(); i++) out[i] = x(i);
  return out;
}

template <class Matrix>
static S dense(const Matrix& x) {
  S out(x.rows(), x.cols());
  for (int i = 0; i < x.rows(); i++)
    for (int j = 0; j < x.cols(); j++) out(i, j) = x(i, j);
  return S::densify(out);
}

// Both algorithms for matrices fill the upper triangle only.
template <class Matrix>
static S symmetric(const Matrix& x) {
  S out(x.rows(), x.cols());
  for (int i = 0; i < x.rows(); i++)
    for (int j = 0; j < x.cols(); j++) out(i, j) = i <= j ? x(i, j) : x(j, i);
  return S::densify(out);
}

static std::vector<S> evaluate(const std::string& function, const pinocchio::ModelTpl<S>& model, pinocchio::FrameIndex tip,
                               const Vector& q, const Vector& v, const Vector& x, pinocchio::Convention convention) {
  using namespace pinocchio;
  DataTpl<S> data(model);
  if (function == "forward_dynamics") return {dense(aba(model, data, q, v, x, convention))};
  if (function == "inverse_dynamics") return {dense(rnea(model, data, q, v, x))};
  if (function == "mass_matrix") return {symmetric(crba(model, data, q, convention))};
  if (function == "mass_matrix_inverse") return {symmetric(computeMinverse(model, data, q))};
  if (function == "coriolis_matrix") return {dense(computeCoriolisMatrix(model, data, q, v))};
  if (function == "centroidal_matrix") return {dense(computeCentroidalMap(model, data, q))};
  if (function == "linearize_inverse") {
    computeRNEADerivatives(model, data, q, v, x);
    return {S::horzcat({symmetric(data.M), dense(data.dtau_dv), dense(data.dtau_dq)})};
  }
  if (function == "linearize_forward") {
    computeABADerivatives(model, data, q, v, x);
    return {S::horzcat({symmetric(data.Minv), dense(data.ddq_dv), dense(data.ddq_dq)})};
  }
  if (function == "jacobian") {
    Eigen::Matrix<S, 6, Eigen::Dynamic> J(6, model.nv);
    J.setZero();
    computeFrameJacobian(model, data, q, tip, LOCAL_WORLD_ALIGNED, J);
    return {dense(J)};
  }
  if (function == "jacobian_dot_v") {
    const Vector rest = Vector::Zero(model.nv);
    forwardKinematics(model, data, q, v, rest);
    updateFramePlacement(model, data, tip);
    const auto a = getFrameClassicalAcceleration(model, data, tip, LOCAL_WORLD_ALIGNED);
    return {dense(a.toVector())};
  }
  if (function == "frame_poses") {
    framesForwardKinematics(model, data, q);
    std::vector<S> parts;
    for (size_t k = 1; k < data.oMf.size(); k++) {
      parts.push_back(S::reshape(dense(data.oMf[k].rotation()), 9, 1));
      parts.push_back(dense(data.oMf[k].translation()));
    }
    return {S::vertcat(parts)};
  }
  return {};
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string function = argv[1], folder = argv[2];
  const auto read = bench::read(std::cin);
  const auto model = read.model.cast<S>();
  const S q = S::sym("q", model.nq), v = S::sym("v", model.nv), x = S::sym("x", model.nv);

  std::vector<casadi::Function> made;
  for (const auto convention : {pinocchio::Convention::LOCAL, pinocchio::Convention::WORLD}) {
    const auto out = evaluate(function, model, read.tip, entries(q), entries(v), entries(x), convention);
    if (out.empty()) return 2;
    made.emplace_back("evaluate", std::vector<S>{q, v, x}, out);
    if (function != "forward_dynamics" && function != "mass_matrix") break;
  }
  size_t best = 0;
  for (size_t k = 1; k < made.size(); k++)
    if (made[k].n_instructions() < made[best].n_instructions()) best = k;
  casadi::CodeGenerator code("evaluate.c");
  code.add(made[best]);
  code.generate(folder + "/");
  std::cout << made[best].n_instructions() << "\n";
}
