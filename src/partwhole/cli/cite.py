"""``partwhole cite``: citations of partwhole and the works it is based on."""

from __future__ import annotations

from partwhole import __version__

BIBTEX = f"""\
@software{{partwhole,
  title   = {{partwhole: what a learner does with unseen combinations of familiar parts}},
  author  = {{{{The partwhole developers}}}},
  version = {{{__version__}}},
  year    = {{2026}},
  license = {{Apache-2.0}}
}}

@inproceedings{{lippl2025compositional,
  title     = {{When does compositional structure yield compositional generalization?
               A kernel theory}},
  author    = {{Lippl, Samuel and Stachenfeld, Kim}},
  booktitle = {{International Conference on Learning Representations}},
  year      = {{2025}},
  eprint    = {{2405.16391}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{yang2025swing,
  title     = {{Swing-by Dynamics in Concept Learning and Compositional Generalization}},
  author    = {{Yang, Yongyi and Park, Core Francisco and Lubana, Ekdeep Singh and Okawa, Maya
               and Hu, Wei and Tanaka, Hidenori}},
  booktitle = {{International Conference on Learning Representations}},
  year      = {{2025}},
  eprint    = {{2410.08309}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{lippl2024inductive,
  title     = {{Inductive biases of multi-task learning and finetuning: multiple regimes of
               feature reuse}},
  author    = {{Lippl, Samuel and Lindsey, Jack W.}},
  booktitle = {{Advances in Neural Information Processing Systems}},
  year      = {{2024}},
  eprint    = {{2310.02396}},
  archivePrefix = {{arXiv}}
}}

@misc{{lippl2022implicit,
  title         = {{The Implicit Bias of Gradient Descent on Generalized Gated Linear Networks}},
  author        = {{Lippl, Samuel and Abbott, L. F. and Chung, SueYeon}},
  year          = {{2022}},
  eprint        = {{2202.02649}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{park2024emergence,
  title     = {{Emergence of Hidden Capabilities: Exploring Learning Dynamics in Concept Space}},
  author    = {{Park, Core Francisco and Okawa, Maya and Lee, Andrew and Lubana, Ekdeep Singh and
               Tanaka, Hidenori}},
  booktitle = {{Advances in Neural Information Processing Systems}},
  year      = {{2024}},
  eprint    = {{2406.19370}},
  archivePrefix = {{arXiv}}
}}

@inproceedings{{okawa2023compositional,
  title     = {{Compositional Abilities Emerge Multiplicatively: Exploring Diffusion Models on a
               Synthetic Task}},
  author    = {{Okawa, Maya and Lubana, Ekdeep Singh and Dick, Robert P. and Tanaka, Hidenori}},
  booktitle = {{Advances in Neural Information Processing Systems}},
  year      = {{2023}},
  eprint    = {{2310.09336}},
  archivePrefix = {{arXiv}}
}}"""


def cite() -> None:
    """Print citations of partwhole and the works it is based on, as BibTeX."""
    print(BIBTEX)
