import { newEnforcer, newModelFromString } from 'casbin'
import type { Peer } from './contender.ts'
import { regexpSource } from './pattern-text.ts'

/**
 * A policy engine with deny-overrides. Its globs differ in meaning from ours, so hosts and paths
 * become regular expressions. Ranges use its `ipMatch`.
 */
export const casbin: Peer = {
  name: 'casbin',
  cannot: {},
  maxSize: 1000,
  async create(domain, resources) {
    const match = domain === 'addresses' ? 'ipMatch' : 'regexMatch'
    const enforcer = await newEnforcer(newModelFromString(model(match)), false)
    const rows = resources.map(({ pattern, decision }) => [
      domain === 'addresses' ? pattern : `^${regexpSource(domain, pattern)}$`,
      decision,
    ])
    await enforcer.addPolicies(rows)
    return (text) => (enforcer.enforceSync(text) ? 1 : 0)
  },
}

function model(match: string): string {
  return `[request_definition]
r = thing
[policy_definition]
p = thing, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = ${match}(r.thing, p.thing)`
}
