import type { Resource } from '../workload/domain.ts'
import type { DomainName } from '../case.ts'
import { createScanLoop, type Answer } from '../measure/isolated-loop.ts'

/** Something that answers requests of one domain. */
export interface Contender {
  readonly name: string
  readonly answer: Answer
}

/** Another matcher, and the sentences that say where it does not stand for ours. */
export interface Peer {
  readonly name: string
  /** Why it is left out of a domain; absent where it can express the case. */
  readonly cannot: Partial<Readonly<Record<DomainName, string>>>
  /** Above this number of resources it is left out. */
  readonly maxSize: number
  /** Why; absent where building or asking takes too long. */
  readonly whyNotMore?: string
  /** Null when the peer is one of `bench/peers` and these are not installed. */
  readonly create: (
    domain: DomainName,
    resources: readonly Resource[],
  ) => Promise<Answer> | Answer | null
}

/** A pattern made ready once; `Key` is what a request text becomes before it is tested. */
export type Tester<Key> = (key: Key) => boolean

/** Deny-overrides by scanning: the denies first, stopping at the first that matches. */
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
