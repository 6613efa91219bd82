"""The few words that every study uses, each in a line of plain English."""

from __future__ import annotations

from partwhole.page import Html, tag

WORDS = {
    "component": "A slot of the input, such as the first number of a sum; it holds one of several "
    "values.",
    "tuple": "One whole input: a value for each component.",
    "conjunction": "Values of some components taken together: a part, a pair, up to the whole "
    "tuple.",
    "salience S(k;C)": "How much of a representation each conjunction of k out of C components "
    "takes up. S(1;2) = 1/2: it is all parts; 0: all memory of whole pairs.",
    "kernel": "How similar two inputs are to a learner; here it depends only on which components "
    "they share.",
    "anchor": "A value that was seen with every partner, while other values met only anchors.",
    "leak slope": "How much of the truth is left in answers to unseen combinations: 1 is all, 0 is "
    "nothing; the rest leaked into memory.",
    "margin": "The answer times its right sign: above 0 is right, and more is surer.",
    "ridge": "A penalty on large weights, which lets a fit miss its training targets a little.",
    "intercept": "A constant added to every answer; free when it is fitted without penalty.",
    "CD-n": "Context dependence: a context says which of two features decides. The n by n "
    "combinations of n values of each feature are never seen; CD-3 is the hardest.",
    "Rep. 1, Rep. 2": "The two representations marked in the paper's diagram of context "
    "dependence: pairs are more salient in Rep. 1, single parts in Rep. 2.",
    "lazy": "Said of a network whose features hardly move in training, so that it behaves as a "
    "kernel does.",
    "rich": "Said of a network that begins with small weights and learns its features.",
    "initial scale": "How large the first weights are; at 1 a layer keeps the size of its inputs.",
    "composite, distance": "Images of digits laid together, each in channels of its own, and how "
    "many pixels apart; at 0 they lie on each other.",
    "auxiliary classes, c": "What a network has learned before the classes it is to learn now, and "
    "the number that all its weights are multiplied by in between.",
    "tangent kernel": "The kernel of a wide network of which every layer is trained, each weight "
    "a little.",
    "concept": "One thing an input can have more or less of; here an axis, along which one cluster "
    "of training inputs lies.",
    "signal": "How strongly a concept drives learning: the mean square of the inputs along its "
    "axis.",
    "input-output map": "The matrix that a linear network multiplies its input with; its diagonal "
    "(major) entries say how much of each concept is learned, the others (minor) how they mix.",
    "second moment": "The mean products of input coordinates; its diagonal holds the signals. The "
    "published figures used its square.",
    "joining entry": "An entry of the input-output map off its diagonal, between two concepts.",
    "ρ, ω": "Correlation of two rows of the initial input-output map, and the size of its entries.",
    "half learned": "Said of a concept when its entry on the diagonal, or its part of the answer, "
    "is half of what it should be.",
    "pivot": "What the initial entry of a concept holds beyond those learned before it (Cholesky).",
    "clock": "The predicted time at which a concept is half learned, ln(1/p − 1)/2a for a pivot p "
    "and a signal a.",
    "flow, recurrence": "The exact equation of learning, and its published update of the "
    "input-output map, with steps; descent on the factor steps on the weights themselves.",
    "plateau": "The error of a learner that knows every concept but the weakest: half the square "
    "of that one's mean.",
    "gate, context": "A gate says which of a unit's weights an input meets: those of its context, "
    "the side of one or more hyperplanes it lies on. In a ReLU network the gates are learned.",
    "limit": "Where training without end would bring a network, as theory solves for it.",
    "margin, share of the largest": "How surely the least sure training input is decided, for the "
    "size of the weights; training ends where no weights have a larger one.",
    "group norm, unit-wise l2, function-space l2": "Sizes that a limit keeps small: the lengths "
    "of what units compute, added up; their squares; and the squares of the whole function.",
    "normalised flow": "Training on the logarithm of the loss, which comes to the limit sooner.",
    "inconsistency": "The share of inputs that two learners decide differently.",
    "agreement beyond chance (A)": "1 where two learners decide alike, 0 where they agree only "
    "as often as their errors alone would make them.",
    "chain": "Units in a row, each fed by the one below it alone.",
    "tie": "An answer of 0, which decides nothing: half right.",
    "swing-by": "The error on an unseen combination falls, rises, and falls again.",
    "diffusion model": "A network that learns to take noise away, and so to draw what it is asked "
    "for.",
    "concept space": "A square or cube whose axes say how far each concept of a sample is at the "
    "value asked for; its corners are the combinations.",
    "over-prompt": "A prompt that asks for more of a concept than any sample has.",
    "retreat": "One coordinate of the answer goes back, whether or not the error rises.",
    "paper time, gradient time": "Time of the published equation of a network whose two layers are "
    "tied, and of gradient flow on its loss, in which the same takes half as long.",
}


def glossary() -> Html:
    """Return the words with their meanings as a list of definitions."""
    rows = [tag("div", tag("dt", word), tag("dd", told)) for word, told in WORDS.items()]
    return tag("dl", rows, class_="words")
