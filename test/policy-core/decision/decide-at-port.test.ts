import { compilePolicy, decide, type CompiledPolicy, type Decision } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policies.ts'

const PORT = 443
/** Number of sets and of ports, whose pairs exceed the cache of sets at a port. */
const MANY = 100

/**
 * A policy that allows a name and denies one of its addresses, which embeds another one (RFC 6052
 * §2.1).
 */
function compiled(): CompiledPolicy {
  const others = Array.from({ length: MANY }, (_, index) => `20.0.0.${index}:${index + 1}`)
  return compilePolicy({
    policies: [
      policy(
        'p',
        rule('a', 'allow', ['connect:tcp'], 'x.com', `10.1.2.3:${PORT}`, ...others),
        rule('d', 'deny', ['connect:tcp'], `[64:ff9b::a01:203]:${PORT}`),
      ),
    ],
  })
}

function ask(compiledPolicy: CompiledPolicy, host: string, address?: string): Decision {
  return decide(compiledPolicy, {
    action: 'connect:tcp',
    host,
    port: PORT,
    ...(address === undefined ? {} : { address }),
  })
}

/** Asks for `count` further pairs of a set and a port. */
function askForOthers(compiledPolicy: CompiledPolicy, from: number, count: number): void {
  for (let at = from; at < from + count; at += 1) {
    const host = `20.0.0.${Math.floor(at / MANY) % MANY}`
    decide(compiledPolicy, { action: 'connect:tcp', host, port: (at % MANY) + 1 })
  }
}

/** Deterministic pseudo-random numbers below `count`, which repeat at short and long intervals. */
function randomNumbers(count: number): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state >>> 8) % count
  }
}

describe('an address that embeds another, both with rules for one port', () => {
  // A decision must not lose the outer set when its inner one enters the cache.
  it('is denied after one more decision than the cache holds', () => {
    const compiledPolicy = compiled()
    ask(compiledPolicy, '10.1.2.3')
    const before = ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')
    askForOthers(compiledPolicy, 0, 8191)

    expect(before.decision).toBe('deny')
    expect(ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')).toEqual(before)
  })

  // With so many addresses, some outer and inner sets share a row of the table.
  it('is denied among thousands of similar ones, whatever the requests in between', () => {
    const hosts = Array.from({ length: 3_000 }, (_, at) => `10.1.${at >> 7}.${(2 * at) & 0xff}`)
    const carrying = hosts.map((_, at) => `64:ff9b::a01:${(2 * at).toString(16)}`)
    // Further rules in between, so that sets of both kinds are not numbered in step.
    const others = hosts
      .filter((_, at) => at % 3 === 0)
      .map((_, at) => `64:ff9b::a01:${(6 * at + 1).toString(16)}`)
    const compiledPolicy = compilePolicy({
      policies: [
        policy(
          'p',
          rule('a', 'allow', ['connect:tcp'], 'x.com', ...hosts.map((host) => `${host}:${PORT}`)),
          rule(
            'd',
            'deny',
            ['connect:tcp'],
            ...carrying.map((host) => `[${host}]:${PORT}`),
            ...others,
          ),
        ),
      ],
    })
    // Every other request is for a port without rules.
    const number = randomNumbers(hosts.length)

    let allowed = 0
    for (let turn = 0; turn < 300_000; turn += 1) {
      if (ask(compiledPolicy, 'x.com', carrying[number()]).decision === 'allow') allowed += 1
      const port = turn % 2 === 0 ? PORT : 1
      decide(compiledPolicy, { action: 'connect:tcp', host: hosts[number()], port })
      decide(compiledPolicy, { action: 'connect:tcp', host: carrying[number()], port: 1 })
    }

    expect(allowed).toBe(0)
  })
})
