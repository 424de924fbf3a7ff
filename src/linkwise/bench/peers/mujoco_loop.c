/* MuJoCo's smooth dynamics in a loop over states, without what contacts and actuators would add; states are rows. */
#include <string.h>

#include <mujoco/mujoco.h>

static void place(const mjModel *m, mjData *d, const double *q) {
    memcpy(d->qpos, q, m->nq * sizeof(double));
    mj_kinematics(m, d);
    mj_comPos(m, d);
}

static void move(const mjModel *m, mjData *d, const double *v) {
    memcpy(d->qvel, v, m->nv * sizeof(double));
    mj_comVel(m, d);
}

void forward_dynamics(const mjModel *m, mjData *d, long n, const double *q, const double *v, const double *tau,
                      double *out) {
    for (long i = 0; i < n; i++) {
        place(m, d, q + i * m->nq);
        mj_makeM(m, d);
        mj_factorM(m, d);
        move(m, d, v + i * m->nv);
        mj_rne(m, d, 0, d->qfrc_bias);
        for (int k = 0; k < m->nv; k++) d->qfrc_smooth[k] = tau[i * m->nv + k] - d->qfrc_bias[k];
        mj_solveM(m, d, out + i * m->nv, d->qfrc_smooth, 1);
    }
}

void inverse_dynamics(const mjModel *m, mjData *d, long n, const double *q, const double *v, const double *a,
                      double *out) {
    for (long i = 0; i < n; i++) {
        place(m, d, q + i * m->nq);
        move(m, d, v + i * m->nv);
        memcpy(d->qacc, a + i * m->nv, m->nv * sizeof(double));
        mj_rne(m, d, 1, out + i * m->nv);
    }
}

void mass_matrix(const mjModel *m, mjData *d, long n, const double *q, double *out) {
    for (long i = 0; i < n; i++) {
        place(m, d, q + i * m->nq);
        mj_makeM(m, d);
        mj_fullM(m, d, out + i * m->nv * m->nv);
    }
}

void mass_matrix_inverse(const mjModel *m, mjData *d, long n, const double *q, const double *identity, double *out) {
    for (long i = 0; i < n; i++) {
        place(m, d, q + i * m->nq);
        mj_makeM(m, d);
        mj_factorM(m, d);
        mj_solveM(m, d, out + i * m->nv * m->nv, identity, m->nv);
    }
}
