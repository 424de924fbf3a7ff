// Forward dynamics of a chain of alike flexible links by the usual dense way: mass matrix by composite bodies, bias by
// Newton and Euler's sweeps, Cholesky's factors. Closed chains and flexible bodies, math notes 5.1. Link k turns about
// its y axis where k is even and about z where it is odd; q = (angle, modes) of every link. The constants of a link
// (LINKS, MODES, MASS, H0, J0, H, C, D, N, NN, MFF, K, AT, PHI, TURN, GRAVITY) come before this text.
#include <cmath>

namespace {

constexpr int NV = LINKS * (1 + MODES), SIZE = MODES + 6;

struct Link {
    double Rj[9], Rt[9], st[3], Bw[3][MODES], Bv[3][MODES];
    double V[6], A[6], f[SIZE], R[SIZE][SIZE];
    int axis;
};

inline void cross(const double *a, const double *b, double *c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}
inline void times(const double *R, const double *x, double *y) {
    for (int i = 0; i < 3; i++) y[i] = R[3 * i] * x[0] + R[3 * i + 1] * x[1] + R[3 * i + 2] * x[2];
}
inline void back(const double *R, const double *x, double *y) {
    for (int i = 0; i < 3; i++) y[i] = R[i] * x[0] + R[3 + i] * x[1] + R[6 + i] * x[2];
}
inline void outward(const double *R, const double *l, const double *x, double *y) {  // [R*w; R*(v + w x l)]
    double moved[3];
    cross(x, l, moved);
    for (int i = 0; i < 3; i++) moved[i] += x[3 + i];
    back(R, x, y);
    back(R, moved, y + 3);
}
inline void inward(const double *R, const double *l, const double *x, double *y) {  // [Rn + l x RF; RF]
    double n[3], m[3];
    times(R, x + 3, y + 3);
    times(R, x, n);
    cross(l, y + 3, m);
    for (int i = 0; i < 3; i++) y[i] = n[i] + m[i];
}

// The node at the tip, B and a_t = (phi*V) x B eta' + B' eta'.
void node(Link &k, const double *eta, const double *rate, double *Vt, double *At) {
    double th[3] = {}, dth[3] = {}, moved[3] = {};
    for (int i = 0; i < 3; i++) {
        k.st[i] = AT[i];
        for (int j = 0; j < MODES; j++) {
            th[i] += TURN[i][j] * eta[j];
            dth[i] += TURN[i][j] * rate[j];
            k.st[i] += PHI[i][j] * eta[j];
            moved[i] += PHI[i][j] * rate[j];
        }
    }
    const double s = th[0] * th[0] + th[1] * th[1] + th[2] * th[2];
    double c[6];  // 1/k! - s c(k+2); angles of links stay small
    double c4 = 0, c5 = 0;
    for (int i = 9; i >= 0; i--) {
        double even = 24, odd = 120;
        for (int j = 5; j <= 2 * i + 4; j++) even *= j;
        for (int j = 6; j <= 2 * i + 5; j++) odd *= j;
        c4 = 1 / even - s * c4;
        c5 = 1 / odd - s * c5;
    }
    c[4] = c4, c[5] = c5, c[3] = 1.0 / 6 - s * c5, c[2] = 0.5 - s * c4, c[1] = 1 - s * c[3];
    const double t[9] = {0, -th[2], th[1], th[2], 0, -th[0], -th[1], th[0], 0};
    double tt[9], J[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            tt[3 * i + j] = th[i] * th[j] - (i == j ? s : 0);
            k.Rt[3 * i + j] = (i == j) + c[1] * t[3 * i + j] + c[2] * tt[3 * i + j];
            J[3 * i + j] = (i == j) - c[2] * t[3 * i + j] + c[3] * tt[3 * i + j];
        }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < MODES; j++) {
            k.Bw[i][j] = J[3 * i] * TURN[0][j] + J[3 * i + 1] * TURN[1][j] + J[3 * i + 2] * TURN[2][j];
            k.Bv[i][j] = k.Rt[i] * PHI[0][j] + k.Rt[3 + i] * PHI[1][j] + k.Rt[6 + i] * PHI[2][j];
        }
    double w[3], u[3], V[6], A[6], x[3], y[3], z[3];
    times(J, dth, w);
    back(k.Rt, moved, u);
    outward(k.Rt, k.st, k.V, V);
    outward(k.Rt, k.st, k.A, A);
    const double ds = 2 * (th[0] * dth[0] + th[1] * dth[1] + th[2] * dth[2]);
    const double d2 = 0.5 * (2 * c[4] - c[3]), d3 = 0.5 * (3 * c[5] - c[4]);
    cross(th, dth, x);
    cross(th, x, y);
    cross(dth, x, z);
    double spun[3], slid[3], a[3], b[3], e[3];
    for (int i = 0; i < 3; i++) spun[i] = ds * (d3 * y[i] - d2 * x[i]) + c[3] * z[i];
    cross(w, u, slid);
    cross(V, w, a);
    cross(V + 3, w, b);
    cross(V, u, e);
    for (int i = 0; i < 3; i++) {
        Vt[i] = V[i] + w[i], Vt[3 + i] = V[3 + i] + u[i];
        At[i] = A[i] + a[i] + spun[i], At[3 + i] = A[3 + i] + b[i] + e[i] - slid[i];
    }
}

// M_fl(eta) into R, and M_fl [0; A] + b_fl into f.
void inertia(Link &k, const double *eta, const double *rate) {
    double h[3], J[9], n[MODES][9], Mw[MODES][3];
    for (int a = 0; a < 3; a++) {
        h[a] = H0[a];
        for (int i = 0; i < MODES; i++) h[a] += H[i][a] * eta[i];
    }
    for (int i = 0; i < MODES; i++) {
        for (int a = 0; a < 9; a++) {
            n[i][a] = N[i][a];
            for (int j = 0; j < MODES; j++) n[i][a] += eta[j] * NN[j][i][a];
        }
        for (int a = 0; a < 3; a++) {
            Mw[i][a] = C[i][a];
            for (int j = 0; j < MODES; j++) Mw[i][a] += eta[j] * D[j][i][a];
        }
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            double x = J0[3 * a + b];
            for (int i = 0; i < MODES; i++) x += eta[i] * (n[i][3 * a + b] + N[i][3 * b + a]);
            J[3 * a + b] = x;
        }
    for (int i = 0; i < MODES; i++) {
        for (int j = 0; j < MODES; j++) k.R[i][j] = MFF[i][j];
        for (int a = 0; a < 3; a++) {
            k.R[i][MODES + a] = k.R[MODES + a][i] = Mw[i][a];
            k.R[i][MODES + 3 + a] = k.R[MODES + 3 + a][i] = H[i][a];
        }
    }
    const double t[9] = {0, -h[2], h[1], h[2], 0, -h[0], -h[1], h[0], 0};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            k.R[MODES + a][MODES + b] = J[3 * a + b];
            k.R[MODES + a][MODES + 3 + b] = k.R[MODES + 3 + b][MODES + a] = t[3 * a + b];
            k.R[MODES + 3 + a][MODES + 3 + b] = a == b ? MASS : 0;
        }
    const double *w = k.V, *v = k.V + 3;
    double wv[3], Jw[3], a1[3], a2[3], wh[3], p[3], a3[3], nw[3], dd[3];
    cross(w, v, wv);
    times(J, w, Jw);
    cross(h, wv, a1);
    cross(w, Jw, a2);
    cross(w, h, wh);
    double turning[3] = {}, moving[3] = {};
    for (int i = 0; i < MODES; i++) {
        times(n[i], w, nw);
        double swung = 0;
        for (int a = 0; a < 3; a++) {
            turning[a] += 2 * rate[i] * nw[a];
            moving[a] += 2 * rate[i] * H[i][a];
            dd[a] = 0;
            for (int j = 0; j < MODES; j++) dd[a] += rate[j] * D[j][i][a];
            swung += H[i][a] * wv[a] - w[a] * nw[a] + 2 * w[a] * dd[a] + Mw[i][a] * k.A[a] + H[i][a] * k.A[3 + a];
        }
        k.f[i] = swung + K[i] * eta[i];
    }
    for (int a = 0; a < 3; a++) p[a] = MASS * v[a] + wh[a] + moving[a];
    cross(w, p, a3);
    double Ja[3], ha[3], hw[3];
    times(J, k.A, Ja);
    cross(h, k.A + 3, ha);
    cross(h, k.A, hw);
    for (int a = 0; a < 3; a++) {
        k.f[MODES + a] = Ja[a] + ha[a] + a1[a] + a2[a] + turning[a];
        k.f[MODES + 3 + a] = MASS * k.A[3 + a] - hw[a] + a3[a];
    }
}

inline void turned(const double *R, const double *x, double *y) {
    times(R, x, y);
    times(R, x + 3, y + 3);
}

void solve(const double *q, const double *v, const double *tau, double *out) {
    static Link k[LINKS];
    static double M[NV][NV];
    double T[NV];
    double Vt[6] = {}, At[6] = {0, 0, 0, -GRAVITY[0], -GRAVITY[1], -GRAVITY[2]};
    for (int i = 0; i < LINKS; i++) {
        Link &x = k[i];
        const double *eta = q + i * (1 + MODES) + 1, *rate = v + i * (1 + MODES) + 1;
        const double c = std::cos(eta[-1]), s = std::sin(eta[-1]);
        x.axis = i % 2 ? 2 : 1;
        const double about_y[9] = {c, 0, s, 0, 1, 0, -s, 0, c}, about_z[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
        for (int a = 0; a < 9; a++) x.Rj[a] = i % 2 ? about_z[a] : about_y[a];
        back(x.Rj, Vt, x.V), back(x.Rj, Vt + 3, x.V + 3);
        back(x.Rj, At, x.A), back(x.Rj, At + 3, x.A + 3);
        double spin[3] = {}, a[3], b[3];
        spin[x.axis] = rate[-1];
        x.V[x.axis] += rate[-1];
        cross(x.V, spin, a), cross(x.V + 3, spin, b);
        for (int j = 0; j < 3; j++) x.A[j] += a[j], x.A[3 + j] += b[j];
        inertia(x, eta, rate);
        node(x, eta, rate, Vt, At);
    }
    for (int i = LINKS - 1; i >= 0; i--) {
        Link &x = k[i];
        if (i + 1 < LINKS) {
            double ft[6], fk[6], P[6][6], Q[6][6], X[6], Y[6];
            turned(k[i + 1].Rj, k[i + 1].f + MODES, ft);
            inward(x.Rt, x.st, ft, fk);
            for (int j = 0; j < MODES; j++)
                for (int a = 0; a < 3; a++) x.f[j] += x.Bw[a][j] * ft[a] + x.Bv[a][j] * ft[3 + a];
            for (int a = 0; a < 6; a++) x.f[MODES + a] += fk[a];
            for (int b = 0; b < 6; b++) {  // Rj R Rj*
                for (int a = 0; a < 6; a++) X[a] = k[i + 1].R[MODES + a][MODES + b];
                turned(k[i + 1].Rj, X, Y);
                for (int a = 0; a < 6; a++) Q[b][a] = Y[a];
            }
            for (int a = 0; a < 6; a++) {
                for (int b = 0; b < 6; b++) X[b] = Q[b][a];
                turned(k[i + 1].Rj, X, P[a]);
            }
            double PB[6][MODES], PF[6][6];  // P [B, phi*]
            for (int a = 0; a < 6; a++) {
                for (int j = 0; j < MODES; j++) {
                    PB[a][j] = 0;
                    for (int b = 0; b < 3; b++) PB[a][j] += P[a][b] * x.Bw[b][j] + P[a][3 + b] * x.Bv[b][j];
                }
                inward(x.Rt, x.st, P[a], PF[a]);
            }
            for (int j = 0; j < MODES; j++) {
                for (int l = 0; l < MODES; l++)
                    for (int a = 0; a < 3; a++) x.R[j][l] += x.Bw[a][j] * PB[a][l] + x.Bv[a][j] * PB[3 + a][l];
                for (int b = 0; b < 6; b++) {
                    double y = 0;
                    for (int a = 0; a < 3; a++) y += x.Bw[a][j] * PF[a][b] + x.Bv[a][j] * PF[3 + a][b];
                    x.R[j][MODES + b] += y, x.R[MODES + b][j] += y;
                }
            }
            for (int b = 0; b < 6; b++) {
                for (int a = 0; a < 6; a++) X[a] = PF[a][b];
                inward(x.Rt, x.st, X, Y);
                for (int a = 0; a < 6; a++) x.R[MODES + a][MODES + b] += Y[a];
            }
        }
        const int at = i * (1 + MODES);
        T[at] = tau[at] - x.f[MODES + x.axis];
        for (int j = 0; j < MODES; j++) T[at + 1 + j] = tau[at + 1 + j] - x.f[j];
        double F[1 + MODES][6];  // columns of the hinge and of the modes
        for (int a = 0; a < 6; a++) {
            F[0][a] = x.R[MODES + a][MODES + x.axis];
            for (int j = 0; j < MODES; j++) F[1 + j][a] = x.R[MODES + a][j];
        }
        M[at][at] = x.R[MODES + x.axis][MODES + x.axis];
        for (int j = 0; j < MODES; j++) {
            M[at + 1 + j][at] = x.R[j][MODES + x.axis];
            for (int l = 0; l <= j; l++) M[at + 1 + j][at + 1 + l] = x.R[j][l];
        }
        for (int p = i; p > 0; p--) {
            const Link &y = k[p - 1];
            const int to = (p - 1) * (1 + MODES);
            for (int c = 0; c < 1 + MODES; c++) {
                double X[6];
                turned(k[p].Rj, F[c], X);
                for (int j = 0; j < MODES; j++) {
                    double z = 0;
                    for (int a = 0; a < 3; a++) z += y.Bw[a][j] * X[a] + y.Bv[a][j] * X[3 + a];
                    M[at + c][to + 1 + j] = z;
                }
                inward(y.Rt, y.st, X, F[c]);
                M[at + c][to] = F[c][y.axis];
            }
        }
    }
    for (int j = 0; j < NV; j++) {  // L L* = M, row by row
        for (int i = 0; i < j; i++) {
            double s = M[j][i];
            for (int l = 0; l < i; l++) s -= M[j][l] * M[i][l];
            M[j][i] = s * M[i][i];  // the diagonal holds inverses
        }
        double s = M[j][j];
        for (int l = 0; l < j; l++) s -= M[j][l] * M[j][l];
        M[j][j] = 1 / std::sqrt(s);
        double x = T[j];
        for (int l = 0; l < j; l++) x -= M[j][l] * T[l];
        T[j] = x * M[j][j];
    }
    for (int j = NV - 1; j >= 0; j--) {
        out[j] = T[j] * M[j][j];
        for (int l = 0; l < j; l++) T[l] -= M[j][l] * out[j];
    }
}

}  // namespace

extern "C" void forward_dynamics(const double *q, const double *v, const double *tau, double *out, long count) {
    for (long i = 0; i < count; i++) solve(q + i * NV, v + i * NV, tau + i * NV, out + i * NV);
}
