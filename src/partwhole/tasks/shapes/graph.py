"""The concept graph: classes that differ in one concept are neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Int

from partwhole._checks import require
from partwhole._door import door

if TYPE_CHECKING:
    from partwhole.tasks.images.attribute_space import AttributeSpace
    from partwhole.tasks.shapes.space import ConceptSpace


def hamming_distance(
    classes: Int[np.ndarray, "n C"], targets: Int[np.ndarray, "m C"]
) -> Int[np.ndarray, "n m"]:
    """Return the number of concepts in which each pair of classes differs.

    Parameters
    ----------
    classes, targets : int arrays, shapes (n, C) and (m, C)
        The index of each concept's value.

    Raises
    ------
    InputError
        For classes of different numbers of concepts.

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.graph import hamming_distance
    >>> classes = circles().classes
    >>> hamming_distance(classes[:1], classes).tolist()
    [[0, 1, 1, 2]]
    """
    require(
        classes.ndim == targets.ndim == 2 and classes.shape[1] == targets.shape[1],
        "classes that are compared have the same concepts",
        f"shapes {classes.shape} and {targets.shape}",
        "pass a row for each class, a column for each concept",
    )
    return (classes[:, None, :] != targets[None, :, :]).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ConceptGraph:
    """Graph of classes that differ in one concept, with the distances of all pairs.

    Made by `concept_graph`.

    Parameters
    ----------
    edges : int array, shape (E, 2)
        Pairs of classes that differ in one concept, the lower number first.
    concepts : int array, shape (E,)
        Which concept that is.
    distances : int array, shape (k, k)
        In how many concepts classes differ: also the length of the shortest path between them.
    """

    edges: Int[np.ndarray, "E 2"]
    concepts: Int[np.ndarray, " E"]
    distances: Int[np.ndarray, "k k"]

    def distances_from(self, is_train: Bool[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Return the distance of each class from the nearest seen one, 0 for seen classes.

        Parameters
        ----------
        is_train : bool array, shape (k,)

        Raises
        ------
        InputError
            If none is seen.

        Notes
        -----
        Okawa et al. (NeurIPS 2023): classes further away are learned later.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> from partwhole.tasks.shapes.graph import concept_graph
        >>> from partwhole.tasks.shapes.splits import distance_one
        >>> space = circles(background_separation=0.6)
        >>> concept_graph(space).distances_from(distance_one(space, 0)).tolist()
        [0, 0, 0, 1, 0, 1, 1, 2]
        """
        self._require_seen(is_train)
        return self.distances[:, is_train].min(axis=1)

    def pieces(self, is_train: Bool[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Return the connected pieces of the seen classes.

        Along such a path one concept changes at a time, and every step is seen.

        Parameters
        ----------
        is_train : bool array, shape (k,)

        Returns
        -------
        int array, shape (k,)
            Classes of one piece share a number from 0; -1 for those that are not seen.

        Raises
        ------
        InputError
            If none is seen.

        Examples
        --------
        >>> from partwhole.tasks import circles
        >>> from partwhole.tasks.shapes.graph import concept_graph
        >>> from partwhole.tasks.shapes.splits import adversarial_split
        >>> space = circles(background_separation=0.6)
        >>> concept_graph(space).pieces(adversarial_split(space, 0)).tolist()
        [-1, 0, 1, -1, 2, -1, -1, 3]
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components  # which the audit starts without

        self._require_seen(is_train)
        k = len(self.distances)
        seen_edges = self.edges[is_train[self.edges].all(axis=1)]
        joined = coo_array(
            (np.ones(len(seen_edges)), (seen_edges[:, 0], seen_edges[:, 1])), shape=(k, k)
        )
        _, labels = connected_components(joined, directed=False)
        pieces = np.full(k, -1)
        pieces[is_train] = np.unique(labels[is_train], return_inverse=True)[1]
        return pieces

    def _require_seen(self, is_train: np.ndarray) -> None:
        k = len(self.distances)
        require(
            is_train.shape == (k,) and is_train.dtype == np.bool_ and bool(is_train.any()),
            f"is_train marks at least one of {k} classes",
            f"{int(is_train.sum())} of {is_train.size}",
            "pass what leave_out returns, say",
        )


@door
def concept_graph(space: ConceptSpace | AttributeSpace) -> ConceptGraph:
    """Return the concept graph of a space.

    Parameters
    ----------
    space : ConceptSpace or AttributeSpace

    Returns
    -------
    ConceptGraph

    Examples
    --------
    >>> from partwhole.tasks import circles
    >>> from partwhole.tasks.shapes.graph import concept_graph
    >>> concept_graph(circles()).edges.tolist()
    [[0, 1], [0, 2], [1, 3], [2, 3]]
    """
    classes = space.classes
    distances = hamming_distance(classes, classes)
    edges = np.argwhere(np.triu(distances == 1))
    differing = classes[edges[:, 0]] != classes[edges[:, 1]]
    return ConceptGraph(edges, differing.argmax(axis=1), distances)
