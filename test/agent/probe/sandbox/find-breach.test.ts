import { describe, expect, it } from 'vitest'
import { findBreach, type Evidence } from '../../../../agent/src/probe/sandbox/find-breach.ts'
import type { Fact } from '../../../../agent/src/probe/sandbox/probe-script.ts'

const NO_CAPABILITY = ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map(
  (set) => `Cap${set}:${'0'.repeat(16)}`,
)

const GOOD: Readonly<Record<Fact, string>> = {
  processes: '2 1 2',
  status: [...NO_CAPABILITY, 'NoNewPrivs:1', 'Seccomp:2', ''].join(' '),
  allowed: 'answer',
  refused: '',
  synthetic: '',
  loopback: '',
  dns: ' 50 41 81 83',
  granted: 'granted',
  denied: '',
  outside: '',
  unix: 'logger: socket /run/probe.sock: Operation not permitted',
}

const evidence = (facts: Partial<typeof GOOD>, seen: Partial<Evidence> = {}): Evidence => ({
  facts: new Map(Object.entries({ ...GOOD, ...facts }) as [Fact, string][]),
  answer: 'answer',
  granted: 'granted',
  secrets: ['secret'],
  heardRefused: false,
  resolvedRefused: false,
  wasWritten: true,
  hasLeft: false,
  ...seen,
})

describe('the facts of a sandbox', () => {
  it('show no breach where every law holds', () => {
    expect(findBreach(evidence({}))).toBe(null)
  })

  it.each<[Partial<typeof GOOD>, string]>([
    [{ allowed: '' }, 'an allowed connection was not carried'],
    [{ refused: 'answer' }, 'a denied connection was carried'],
    [{ synthetic: 'answer' }, 'a denied connection was carried'],
    [{ loopback: 'answer' }, 'a denied connection was carried'],
    [{ dns: '' }, 'an unknown name was not refused at once'],
    [{ dns: ' 50 41 81 80' }, 'an unknown name was not refused at once'],
    [{ dns: ' 50 41 81 85' }, 'an unknown name was not refused at once'],
    [{ dns: ' 50 42 81 85' }, 'an unknown name was not refused at once'],
    [{ granted: '' }, 'a granted file could not be read'],
    [{ denied: 'secret' }, 'a denied file could be read'],
    [{ outside: 'secret' }, 'a denied file could be read'],
    [{ unix: '' }, 'a Unix socket was not refused, or `logger` of util-linux is not installed'],
    [{ status: GOOD.status.replace('CapBnd:0000', 'CapBnd:0001') }, 'a process has capabilities'],
    [
      { status: GOOD.status.replace('Seccomp:2', 'Seccomp:0') },
      'no filter of system calls is in force',
    ],
    [
      { status: GOOD.status.replace('NoNewPrivs:1', 'NoNewPrivs:0') },
      'a process may gain privileges',
    ],
    [{ status: '' }, 'a process has capabilities'],
    [{ processes: '2 1 2 31' }, 'other processes are visible'],
    [{ processes: '2' }, 'other processes are visible'],
  ])('name the breach in %j', (facts, breach) => {
    expect(findBreach(evidence(facts))).toBe(breach)
  })

  it.each<[Partial<Evidence>, string]>([
    [{ heardRefused: true }, 'a denied connection was carried'],
    [{ resolvedRefused: true }, 'a denied name was resolved'],
    [{ wasWritten: false }, 'a granted directory could not be written'],
    [{ hasLeft: true }, 'a change left a strict sandbox unreviewed'],
  ])('count also what the agent saw: %j', (seen, breach) => {
    expect(findBreach(evidence({}, seen))).toBe(breach)
  })

  it('show a breach where the script told nothing', () => {
    expect(findBreach(evidence({}, { facts: new Map() }))).not.toBe(null)
  })
})
