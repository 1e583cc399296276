import { MAX_STAGED_CHANGES, type StagedChange, type StagedResult } from '@palisade/protocol'

/**
 * The changes of one answer. Granted ones and others have half of it each at least, or a command
 * could hide those of one kind behind many of the other.
 */
export class ChangeList {
  readonly #granted: StagedChange[] = []
  readonly #others: StagedChange[] = []
  readonly #counts = { allowed: 0, applied: 0, refused: 0, conflict: 0, failed: 0 }

  add(change: StagedChange): StagedChange {
    this.#counts[change.verdict] += 1
    const isGranted = change.verdict === 'allowed' || change.verdict === 'applied'
    const list = isGranted ? this.#granted : this.#others
    if (list.length < MAX_STAGED_CHANGES) list.push(change)
    return change
  }

  /** Replaces the verdict of a change that was added. */
  change(former: StagedChange, verdict: Pick<StagedChange, 'verdict' | 'reason'>): void {
    this.#counts[former.verdict] -= 1
    const index = this.#granted.indexOf(former)
    if (index >= 0) this.#granted.splice(index, 1)
    this.add({ ...former, ...verdict })
  }

  result(): Pick<StagedResult, 'changes' | 'counts'> {
    const free = Math.max(MAX_STAGED_CHANGES / 2, MAX_STAGED_CHANGES - this.#granted.length)
    const others = this.#others.slice(0, free)
    const changes = [...others, ...this.#granted.slice(0, MAX_STAGED_CHANGES - others.length)]
    const byPath = (a: StagedChange, b: StagedChange): number => (a.path < b.path ? -1 : 1)
    return { changes: changes.toSorted(byPath), counts: { ...this.#counts } }
  }
}
