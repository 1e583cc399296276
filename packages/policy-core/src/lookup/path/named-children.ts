/** Label of a node without children. */
const NO_LABEL = -1

/**
 * The children of nodes by label. Most nodes have one child, which is stored beside the node, since
 * a `Map` per node would be slow. A single `Map` for all nodes would need keys of node and label.
 * The hash of numbers has no secret, so an attacker could choose many colliding keys.
 */
export class NamedChildren {
  readonly #labels: number[] = []
  readonly #children: number[] = []
  /** Further children, of nodes that have more than one. */
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
