"""What the throughput of studies is measured beside runs as studies are now."""

import numpy as np
import study_throughput


def test_the_bare_kernel_runs_beside_a_study(monkeypatch):
    monkeypatch.setattr(study_throughput, "STEPS", 20)
    study = study_throughput.arm_study(16)
    rate, spent = study_throughput.bare_kernel(study, 1)()
    assert rate > 0.0 and spent > 0.0 and study.scenario.steps == 20
    found, sound = study.prepared.batch(study.sampling.values(0, 16))
    assert sound.all() and np.isfinite(found["speed_end.tcp"]).all()
