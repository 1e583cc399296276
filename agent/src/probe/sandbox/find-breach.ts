import type { Fact } from './probe-script.ts'

/** The traces of a probe outside its sandbox, and the texts that it must and must not know. */
export interface Evidence {
  /** The script's lines. */
  readonly facts: ReadonlyMap<Fact, string>
  /** The answer of the allowed canary. */
  readonly answer: string
  /** The content of the granted file. */
  readonly granted: string
  /** Texts of the denied file and of the file outside. */
  readonly secrets: readonly string[]
  /** Whether the text for the refused canary arrived. */
  readonly heardRefused: boolean
  /** Whether the refused name was resolved. */
  readonly resolvedRefused: boolean
  /** Whether the script could write beside the granted file. */
  readonly wasWritten: boolean
  /** Whether a file that a strict sandbox wrote is there outside. */
  readonly hasLeft: boolean
}

/** Facts of connections that must lead nowhere. */
const DENIED = ['refused', 'synthetic', 'loopback'] as const

type Test = (evidence: Evidence, fact: (name: Fact) => string) => boolean

/** Each law of a sandbox, by the sentence for a breach of it. */
const LAWS: readonly (readonly [breach: string, holds: Test])[] = [
  ['an allowed connection was not carried', ({ answer }, fact) => fact('allowed') === answer],
  [
    'a denied connection was carried',
    ({ heardRefused, answer }, fact) => !heardRefused && DENIED.every((at) => fact(at) !== answer),
  ],
  ['a denied name was resolved', ({ resolvedRefused }) => !resolvedRefused],
  // The id of the query, an answer to it, and NXDOMAIN (RFC 1035 §4.1.1).
  ['an unknown name was not refused at once', (_, fact) => /^50 41 8. .3$/.test(fact('dns'))],
  ['a granted file could not be read', ({ granted }, fact) => fact('granted') === granted],
  ['a granted directory could not be written', ({ wasWritten }) => wasWritten],
  ['a change left a strict sandbox unreviewed', ({ hasLeft }) => !hasLeft],
  [
    'a denied file could be read',
    ({ secrets, facts }) => [...facts.values()].every((text) => !includesAny(text, secrets)),
  ],
  [
    'a Unix socket was not refused, or `logger` of util-linux is not installed',
    (_, fact) => fact('unix').includes('Operation not permitted'),
  ],
  ['a process has capabilities', (_, fact) => hasNoCapability(fact('status'))],
  ['no filter of system calls is in force', (_, fact) => /Seccomp:2(?: |$)/.test(fact('status'))],
  ['a process may gain privileges', (_, fact) => /NoNewPrivs:1(?: |$)/.test(fact('status'))],
  ['other processes are visible', (_, fact) => seesOnlyItself(fact('processes'))],
]

/** The first law that the evidence does not show, as a sentence for people; null if all hold. */
export function findBreach(evidence: Evidence): string | null {
  const fact = (name: Fact): string => evidence.facts.get(name)?.trim() ?? ''
  return LAWS.find(([, holds]) => !holds(evidence, fact))?.[0] ?? null
}

function includesAny(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => text.includes(secret))
}

const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']

function hasNoCapability(status: string): boolean {
  return CAPABILITY_SETS.every((set) => new RegExp(`${set}:0{16}(?: |$)`).test(status))
}

/** The shell's own id comes first. Process 1 is that of bubblewrap. */
function seesOnlyItself(processes: string): boolean {
  const [own, ...seen] = processes.split(' ')
  return seen.length > 0 && seen.every((id) => id === '1' || id === own)
}
