"""What to cite: the works behind the algorithms and the thresholds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """A work, as it is named in a sentence, in a list and in BibTeX."""

    short: str
    full: str
    bibtex: str


REDA = Work(
    "Réda, Kaufmann and Delahaye-Duriez 2021",
    "C. Réda, E. Kaufmann and A. Delahaye-Duriez. Top-m identification for linear bandits. "
    "AISTATS 2021, PMLR 130:1108–1116.",
    r"""@inproceedings{reda2021top,
  author    = {R\'{e}da, Cl\'{e}mence and Kaufmann, Emilie and
               Delahaye-Duriez, Andr\'{e}e},
  title     = {Top-m identification for linear bandits},
  booktitle = {Proceedings of the 24th International Conference on
               Artificial Intelligence and Statistics (AISTATS)},
  series    = {Proceedings of Machine Learning Research},
  volume    = {130},
  pages     = {1108--1116},
  year      = {2021}
}""",
)
JEDRA = Work(
    "Jedra and Proutière 2020",
    "Y. Jedra and A. Proutière. Optimal best-arm identification in linear bandits. "
    "NeurIPS 33:10007–10017, 2020.",
    r"""@inproceedings{jedra2020optimal,
  author    = {Jedra, Yassir and Prouti\`{e}re, Alexandre},
  title     = {Optimal best-arm identification in linear bandits},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  pages     = {10007--10017},
  year      = {2020}
}""",
)
ABBASI = Work(
    "Abbasi-Yadkori, Pál and Szepesvári 2011",
    "Y. Abbasi-Yadkori, D. Pál and C. Szepesvári. Improved algorithms for linear stochastic "
    "bandits. NIPS 24:2312–2320, 2011.",
    r"""@inproceedings{abbasi2011improved,
  author    = {Abbasi-Yadkori, Yasin and P\'{a}l, D\'{a}vid and
               Szepesv\'{a}ri, Csaba},
  title     = {Improved algorithms for linear stochastic bandits},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {24},
  pages     = {2312--2320},
  year      = {2011}
}""",
)
KALYANAKRISHNAN = Work(
    "Kalyanakrishnan, Tewari, Auer and Stone 2012",
    "S. Kalyanakrishnan, A. Tewari, P. Auer and P. Stone. PAC subset selection in stochastic "
    "multi-armed bandits. ICML 2012.",
    r"""@inproceedings{kalyanakrishnan2012pac,
  author    = {Kalyanakrishnan, Shivaram and Tewari, Ambuj and Auer, Peter and
               Stone, Peter},
  title     = {{PAC} subset selection in stochastic multi-armed bandits},
  booktitle = {Proceedings of the 29th International Conference on Machine Learning},
  year      = {2012}
}""",
)
GABILLON = Work(
    "Gabillon, Ghavamzadeh and Lazaric 2012",
    "V. Gabillon, M. Ghavamzadeh and A. Lazaric. Best arm identification: a unified approach to "
    "fixed budget and fixed confidence. NIPS 25:3212–3220, 2012.",
    r"""@inproceedings{gabillon2012best,
  author    = {Gabillon, Victor and Ghavamzadeh, Mohammad and Lazaric, Alessandro},
  title     = {Best arm identification: A unified approach to fixed budget
               and fixed confidence},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {25},
  pages     = {3212--3220},
  year      = {2012}
}""",
)
XU = Work(
    "Xu, Honda and Sugiyama 2018",
    "L. Xu, J. Honda and M. Sugiyama. A fully adaptive algorithm for pure exploration in linear "
    "bandits. AISTATS 2018, PMLR 84:843–851.",
    r"""@inproceedings{xu2018fully,
  author    = {Xu, Liyuan and Honda, Junya and Sugiyama, Masashi},
  title     = {A fully adaptive algorithm for pure exploration in linear
               bandits},
  booktitle = {Proceedings of the 21st International Conference on
               Artificial Intelligence and Statistics (AISTATS)},
  series    = {Proceedings of Machine Learning Research},
  volume    = {84},
  pages     = {843--851},
  year      = {2018}
}""",
)
DEGENNE = Work(
    "Degenne, Ménard, Shang and Valko 2020",
    "R. Degenne, P. Ménard, X. Shang and M. Valko. Gamification of pure exploration for linear "
    "bandits. ICML 2020, PMLR 119:2432–2442.",
    r"""@inproceedings{degenne2020gamification,
  author    = {Degenne, R\'{e}my and M\'{e}nard, Pierre and Shang, Xuedong and
               Valko, Michal},
  title     = {Gamification of pure exploration for linear bandits},
  booktitle = {Proceedings of the 37th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {119},
  pages     = {2432--2442},
  year      = {2020}
}""",
)
MISLID = Work(
    "Réda, Tirinzoni and Degenne 2021",
    "C. Réda, A. Tirinzoni and R. Degenne. Dealing with misspecification in fixed-confidence linear "
    "top-m identification. NeurIPS 34, 2021.",
    r"""@inproceedings{reda2021dealing,
  author    = {R\'{e}da, Cl\'{e}mence and Tirinzoni, Andrea and Degenne, R\'{e}my},
  title     = {Dealing with misspecification in fixed-confidence linear top-m
               identification},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {34},
  year      = {2021}
}""",
)
WANG = Work(
    "Wang, Tzeng and Proutière 2021",
    "P.-A. Wang, R.-C. Tzeng and A. Proutière. Fast pure exploration via Frank–Wolfe. "
    "NeurIPS 34, 2021.",
    r"""@inproceedings{wang2021fast,
  author    = {Wang, Po-An and Tzeng, Ruo-Chun and Prouti\`{e}re, Alexandre},
  title     = {Fast pure exploration via {Frank--Wolfe}},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {34},
  year      = {2021}
}""",
)
FIEZ = Work(
    "Fiez, Jain, Jamieson and Ratliff 2019",
    "T. Fiez, L. Jain, K. Jamieson and L. Ratliff. Sequential experimental design for transductive "
    "linear bandits. NeurIPS 2019.",
    r"""@inproceedings{fiez2019sequential,
  author    = {Fiez, Tanner and Jain, Lalit and Jamieson, Kevin and Ratliff, Lillian},
  title     = {Sequential experimental design for transductive linear bandits},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  year      = {2019}
}""",
)
ROBBINS = Work(
    "Robbins 1970",
    "H. Robbins. Statistical methods related to the law of the iterated logarithm. The Annals of "
    "Mathematical Statistics 41(5):1397–1409, 1970.",
    r"""@article{robbins1970statistical,
  author  = {Robbins, Herbert},
  title   = {Statistical methods related to the law of the iterated logarithm},
  journal = {The Annals of Mathematical Statistics},
  volume  = {41},
  number  = {5},
  pages   = {1397--1409},
  year    = {1970}
}""",
)

KAUFMANN = Work(
    "Kaufmann and Koolen 2021",
    "E. Kaufmann and W. M. Koolen. Mixture martingales revisited with applications to sequential "
    "tests and confidence intervals. Journal of Machine Learning Research 22(246):1–44, 2021.",
    r"""@article{kaufmann2021mixture,
  author  = {Kaufmann, Emilie and Koolen, Wouter M.},
  title   = {Mixture martingales revisited with applications to sequential tests and confidence
             intervals},
  journal = {Journal of Machine Learning Research},
  volume  = {22},
  number  = {246},
  pages   = {1--44},
  year    = {2021}
}""",
)

SUBSETS = Work(
    "Kaufmann and Kalyanakrishnan 2013",
    "E. Kaufmann and S. Kalyanakrishnan. Information complexity in bandit subset selection. COLT "
    "2013, PMLR 30:228–251.",
    r"""@inproceedings{kaufmann2013information,
  author    = {Kaufmann, Emilie and Kalyanakrishnan, Shivaram},
  title     = {Information complexity in bandit subset selection},
  booktitle = {Proceedings of the 26th Annual Conference on Learning Theory (COLT)},
  series    = {Proceedings of Machine Learning Research},
  volume    = {30},
  pages     = {228--251},
  year      = {2013}
}""",
)

TIRINZONI = Work(
    "Tirinzoni and Degenne 2022",
    "A. Tirinzoni and R. Degenne. On elimination strategies for bandit fixed-confidence "
    "identification. NeurIPS 35, 2022.",
    r"""@inproceedings{tirinzoni2022elimination,
  author    = {Tirinzoni, Andrea and Degenne, R\'{e}my},
  title     = {On elimination strategies for bandit fixed-confidence identification},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022}
}""",
)

YANG = Work(
    "Yang and Tan 2022",
    "J. Yang and V. Y. F. Tan. Minimax optimal fixed-budget best arm identification in linear "
    "bandits. NeurIPS 35, 2022.",
    r"""@inproceedings{yang2022minimax,
  author    = {Yang, Junwen and Tan, Vincent Y. F.},
  title     = {Minimax optimal fixed-budget best arm identification in linear
               bandits},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {35},
  year      = {2022}
}""",
)
AZIZI = Work(
    "Azizi, Kveton and Ghavamzadeh 2022",
    "M. J. Azizi, B. Kveton and M. Ghavamzadeh. Fixed-budget best-arm identification in structured "
    "bandits. IJCAI 2022.",
    r"""@inproceedings{azizi2022fixed,
  author    = {Azizi, Mohammad Javad and Kveton, Branislav and
               Ghavamzadeh, Mohammad},
  title     = {Fixed-budget best-arm identification in structured bandits},
  booktitle = {Proceedings of the 31st International Joint Conference on
               Artificial Intelligence (IJCAI)},
  year      = {2022}
}""",
)
KATZ = Work(
    "Katz-Samuels, Jain, Karnin and Jamieson 2020",
    "J. Katz-Samuels, L. Jain, Z. Karnin and K. Jamieson. An empirical process approach to the union "
    "bound: practical algorithms for combinatorial and linear bandits. NeurIPS 33, 2020.",
    r"""@inproceedings{katz2020empirical,
  author    = {Katz-Samuels, Julian and Jain, Lalit and Karnin, Zohar and
               Jamieson, Kevin},
  title     = {An empirical process approach to the union bound: Practical
               algorithms for combinatorial and linear bandits},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {33},
  year      = {2020}
}""",
)

# XY-halving is nobody's; these are the nearest that have a theorem.
NEAREST = (YANG, AZIZI, KATZ)
# By the first word of the algorithm's name; all others are Réda et al.'s.
ALGORITHMS = {
    "LUCB": KALYANAKRISHNAN,
    "UGapE": GABILLON,
    "LinGapE": XU,
    "LinGame": DEGENNE,
    "KL-LUCB": SUBSETS,
    "KL-Racing": SUBSETS,
    "Racing": SUBSETS,
    "MisLid": MISLID,
    "Phased": FIEZ,
    "Uniform": ROBBINS,  # the stop; nobody has invented the sampling
    "FWS": WANG,
    "lazy": JEDRA,
}
# By the threshold's source; those "of the paper" are Réda et al.'s.
SOURCES = {
    "Robbins 1970, with a prior from a pilot": ROBBINS,
    KAUFMANN.short: KAUFMANN,
    "Jedra and Proutière 2020": JEDRA,
    "Jedra and Proutière 2020, over a grid of shifts": JEDRA,
    "Abbasi-Yadkori et al. 2011": ABBASI,
    "Kalyanakrishnan et al. 2012": KALYANAKRISHNAN,
    "Kaufmann and Kalyanakrishnan 2013": SUBSETS,
    "Robbins 1970": ROBBINS,
}


def algorithm_work(name: str) -> Work:
    """Whose algorithm it is.

    Examples
    --------
    >>> algorithm_work("LUCB both").short
    'Kalyanakrishnan, Tewari, Auer and Stone 2012'
    """
    return ALGORITHMS.get(name.split(" ")[0], REDA)


def works(algorithm: str, source: str) -> list[Work]:
    """What a study rests on, the paper first, each once.

    Examples
    --------
    >>> [work.short for work in works("m-LinGapE", "Jedra and Proutière 2020")]
    ['Réda, Kaufmann and Delahaye-Duriez 2021', 'Jedra and Proutière 2020']
    """
    found = [REDA, algorithm_work(algorithm), SOURCES.get(source, REDA)]
    if algorithm.endswith(" elimination"):
        found.append(TIRINZONI)
    return list(dict.fromkeys(found))
