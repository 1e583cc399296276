import type { DomainName, Resource } from '../../workload/domain.ts'
import { createScanLoop, type Answer } from '../measure/isolated-loop.ts'

/** A matcher that answers requests of one domain. */
export interface Contender {
  readonly name: string
  readonly answer: Answer
  /** Answers all texts and adds up the answers. By default a loop calls `answer`. */
  readonly run?: (texts: readonly string[]) => number
}

/** Another matcher, with the reasons why it cannot replace ours. */
export interface Peer {
  readonly name: string
  /** Reason to leave it out of a domain. Absent for a domain that it supports. */
  readonly cannot: Partial<Readonly<Record<DomainName, string>>>
  /** The peer is left out above this number of resources. */
  readonly maxSize: number
  /** Reason for `maxSize`. Absent when building or matching takes too long. */
  readonly whyNotMore?: string
  /** Returns null when the peer belongs to `bench/peers`, which is not installed. */
  readonly create: (
    domain: DomainName,
    resources: readonly Resource[],
  ) => Promise<Answer> | Answer | null
}

/** A prepared pattern. `Key` is the parsed form of a request text. */
export type Tester<Key> = (key: Key) => boolean

/** Scans with deny-overrides: the denies first, stopping at the first match. */
export function scan<Key>(
  resources: readonly Resource[],
  createTester: (pattern: string) => Tester<Key>,
  keyOf: (text: string) => Key,
): Answer {
  const testers = (decision: Resource['decision']): Tester<Key>[] =>
    resources.filter((each) => each.decision === decision).map((each) => createTester(each.pattern))
  const denies = testers('deny')
  const allows = testers('allow')
  const ask = createScanLoop()
  return (text) => ask(denies, allows, keyOf(text))
}
