import { compilePolicy, decide, type Action, type CompiledPolicy } from '@palisade/policy-core'
import * as fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import picomatch from 'picomatch'
import { describe, expect, it } from 'vitest'
import { addressIn, addresses, ranges } from './arbitraries/address.ts'
import { pathChoice, pathFrom } from './arbitraries/path-request.ts'
import { pathPatterns, paths } from './arbitraries/path.ts'
import { everyCase, LAW_TIMEOUT_MS } from './every-case.ts'
import { formatAddress, onlyAddress, type Address } from './reference/address.ts'

describe('other implementations with the same meaning', () => {
  it('a path pattern matches what picomatch matches', { timeout: LAW_TIMEOUT_MS }, () => {
    const cases = fc.tuple(
      pathPatterns().filter((pattern) => !pattern.startsWith('~')),
      fc.array(pathChoice(), { minLength: 10, maxLength: 10 }),
      fc.array(paths(), { minLength: 10, maxLength: 10 }),
    )
    const outcomes = everyCase(
      { runs: 1000, casesPerRun: 20 },
      cases,
      ([pattern, choices, others], tally) => {
        const compiled = allowing('read', pattern)
        const isMatch = picomatchOf(pattern)

        const derived = choices
          .filter(({ change }) => change === 'none' || change === 'deeper' || change === 'sibling')
          .map((choice) => pathFrom(pattern, undefined, choice))
        for (const path of [...derived, ...others].filter(isCanonical)) {
          const { decision } = decide(compiled, { action: 'read', path })

          expect(decision).toBe(isMatch(path) ? 'allow' : 'deny')
          tally(decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.15, deny: 0.15 })).toEqual([])
  })

  it(
    'a range contains the addresses that ipaddr.js finds in it',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const cases = fc.tuple(
        ranges(),
        fc.array(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), { minLength: 10, maxLength: 10 }),
        fc.array(addresses(), { minLength: 10, maxLength: 10 }),
      )
      const outcomes = everyCase(
        { runs: 1000, casesPerRun: 20 },
        cases,
        ([range, bits, others], tally) => {
          const compiled = denying('connect:tcp', `${formatAddress(range)}/${range.prefix}`)
          const cidr: [ipaddr.IPv4 | ipaddr.IPv6, number] = [
            ipaddr.parse(formatAddress(range)),
            range.prefix,
          ]

          const near = bits
            .map((some) => addressIn(range, some))
            .map((inside, i) => flipped(inside, i))
          for (const address of [...near, ...others]) {
            const host = formatAddress(address)
            const { rules } = decide(compiled, { action: 'connect:tcp', host, port: 443 })

            const parsed = ipaddr.process(host)
            const holds = parsed.kind() === cidr[0].kind() && parsed.match(cidr)
            // An IPv4 deny also matches embedded addresses in IPv6, unlike ipaddr.js.
            const isEmbedded = range.family === 4 && address.family === 6
            expect(isEmbedded || rules.length > 0 === holds).toBe(true)
            tally(holds ? 'inside' : 'outside')
          }
        },
      )

      expect(outcomes.rarerThan({ inside: 0.15, outside: 0.15 })).toEqual([])
    },
  )
})

/**
 * Translates a pattern to picomatch, where only `*` and `**` are special. There a trailing `/**`
 * after a wildcard does not match the directory itself, and a leading one needs a preceding
 * segment.
 */
function picomatchOf(pattern: string): (path: string) => boolean {
  const escaped = `/root${pattern}`.replace(/[\\?[\]{}()!+@|,^$.]/g, String.raw`\$&`)
  const isMatch = picomatch([escaped, escaped.replace(/(?:\/\*\*)+$/, '')], {
    dot: true,
    nobrace: true,
    noextglob: true,
    nonegate: true,
  })
  return (path) => isMatch(`/root${path}`)
}

/** Paths that both picomatch and we accept: without newlines, empty segments or dot segments. */
function isCanonical(path: string): boolean {
  const isName = (part: string) => part !== '' && part !== '.' && part !== '..'
  return !path.includes('\n') && path.split('/').slice(1).every(isName)
}

/** Inverts one bit of every other address. */
function flipped({ family, value }: Address, index: number): Address {
  const bits = onlyAddress({ family, value }).prefix
  return { family, value: index % 2 === 0 ? value : value ^ (1n << BigInt((index * 13) % bits)) }
}

function allowing(action: Action, resource: string): CompiledPolicy {
  return compiledRule(action, 'allow', resource)
}

function denying(action: Action, resource: string): CompiledPolicy {
  return compiledRule(action, 'deny', resource)
}

function compiledRule(
  action: Action,
  decision: 'allow' | 'deny',
  resource: string,
): CompiledPolicy {
  const rule = { id: 'rule_1', name: 'rule', actions: [action], decision, resources: [resource] }
  return compilePolicy({
    policies: [{ id: 'pol_1', name: 'policy', allowlist_v0: { rules: [rule] } }],
  })
}
