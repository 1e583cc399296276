import { compilePolicy, decide, type CompiledPolicy, type Decision } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { policy, rule } from '../policies.ts'

const PORT = 443
/** Sets and ports of which each pair is a set at a port: more of them than are kept. */
const MANY = 100

/** A name is allowed, and denied at one address, which carries another one (RFC 6052 §2.1). */
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

/** Asks for that many further pairs of a set and a port. */
function askForOthers(compiledPolicy: CompiledPolicy, from: number, count: number): void {
  for (let at = from; at < from + count; at += 1) {
    const host = `20.0.0.${Math.floor(at / MANY) % MANY}`
    decide(compiledPolicy, { action: 'connect:tcp', host, port: (at % MANY) + 1 })
  }
}

describe('an address that carries another, both with rules for one port', () => {
  // The number of the outer set once went to the inner one while a request was being decided.
  it('is denied after as many other decisions as are kept, and one', () => {
    const compiledPolicy = compiled()
    ask(compiledPolicy, '10.1.2.3')
    const before = ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')
    askForOthers(compiledPolicy, 0, 8191)

    expect(before.decision).toBe('deny')
    expect(ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')).toEqual(before)
  })

  it('is decided alike whatever was asked for in between', () => {
    const compiledPolicy = compiled()
    const expected = ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')
    const different: number[] = []
    for (let turn = 0; turn < 30_000; turn += 1) {
      askForOthers(compiledPolicy, turn, 1)
      if (turn % 3 === 0) ask(compiledPolicy, '10.1.2.3')
      const found = ask(compiledPolicy, 'x.com', '64:ff9b::a01:203')
      if (found.decision !== 'deny' || found.rules[0]?.rule_id !== expected.rules[0]?.rule_id)
        different.push(turn)
    }

    expect(different).toEqual([])
  })
})
