/** In place of a label: the node has no child. */
const NO_LABEL = -1

/**
 * The children of nodes by label. Most nodes have one, which stands beside the node: a `Map` each
 * is what would take longest. One `Map` for all would be keyed by node and label together, and a
 * `Map` of numbers has no secret: among so many keys somebody finds as many as he likes that
 * collide.
 */
export class NamedChildren {
  readonly #labels: number[] = []
  readonly #children: number[] = []
  /** Of the nodes that have more than one: all others. */
  readonly #others = new Map<number, Map<number, number>>()

  find(node: number, label: number): number | undefined {
    if (this.#labels[node] === label) return this.#children[node]
    return this.#others.get(node)?.get(label)
  }

  add(node: number, label: number, child: number): void {
    // Without gaps, which would make it a hash table.
    while (this.#labels.length <= node) {
      this.#labels.push(NO_LABEL)
      this.#children.push(0)
    }
    if (this.#labels[node] === NO_LABEL) {
      this.#labels[node] = label
      this.#children[node] = child
      return
    }
    const siblings = this.#others.get(node)
    if (siblings === undefined) this.#others.set(node, new Map([[label, child]]))
    else siblings.set(label, child)
  }
}
