// Pinocchio's algorithms on CasADi's symbols, written out as C: generator FUNCTION FOLDER < robot.txt
#include <iostream>

#include <pinocchio/autodiff/casadi.hpp>

#include "pinocchio_reader.hpp"

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
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

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string function = argv[1], folder = argv[2];
  const auto model = bench::read(std::cin).cast<S>();
  pinocchio::DataTpl<S> data(model);
  const S q = S::sym("q", model.nq), v = S::sym("v", model.nv), x = S::sym("x", model.nv);
  const Vector Q = entries(q), V = entries(v), X = entries(x);

  std::vector<S> in{q, v, x}, out;
  if (function == "forward_dynamics") out = {dense(pinocchio::aba(model, data, Q, V, X))};
  else if (function == "inverse_dynamics") out = {dense(pinocchio::rnea(model, data, Q, V, X))};
  else if (function == "mass_matrix") in = {q}, out = {symmetric(pinocchio::crba(model, data, Q))};
  else if (function == "mass_matrix_inverse") in = {q}, out = {symmetric(pinocchio::computeMinverse(model, data, Q))};
  else if (function == "linearize_inverse") {
    pinocchio::computeRNEADerivatives(model, data, Q, V, X);
    out = {S::horzcat({symmetric(data.M), dense(data.dtau_dv), dense(data.dtau_dq)})};
  } else if (function == "linearize_forward") {
    pinocchio::computeABADerivatives(model, data, Q, V, X);
    out = {S::horzcat({symmetric(data.Minv), dense(data.ddq_dv), dense(data.ddq_dq)})};
  } else return 2;

  const casadi::Function made("evaluate", in, out);
  casadi::CodeGenerator code("evaluate.c");
  code.add(made);
  code.generate(folder + "/");
  std::cout << made.n_instructions() << "\n";
}
