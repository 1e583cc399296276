import { cedarCondition, cedarContext } from './cedar-condition.ts'
import type { Peer } from './contender.ts'
import { requirePeer } from '../../process/installed-peer.ts'

interface CedarModule {
  readonly preparsePolicySet: (id: string, policies: object) => { readonly type: string }
  readonly statefulIsAuthorized: (call: object) => {
    readonly response?: { readonly decision: string }
  }
}

/**
 * A policy language with deny-overrides. Policies are parsed once; each request crosses into
 * WebAssembly.
 */
export const cedar: Peer = {
  name: 'cedar-wasm',
  cannot: {},
  maxSize: 1000,
  create(domain, resources) {
    const module = requirePeer('@cedar-policy/cedar-wasm/nodejs') as CedarModule | null
    if (module === null) return null
    const policies = resources.map(({ pattern, decision }) => {
      const effect = decision === 'allow' ? 'permit' : 'forbid'
      return `${effect} (principal, action, resource) when { ${cedarCondition(domain, pattern)} };`
    })
    const parsed = module.preparsePolicySet(domain, { staticPolicies: policies.join('\n') })
    if (parsed.type !== 'success') throw new Error(`cedar refuses the policies: ${parsed.type}`)
    const call = {
      principal: { type: 'Program', id: 'program' },
      action: { type: 'Action', id: 'ask' },
      resource: { type: 'Thing', id: 'thing' },
      preparsedPolicySetId: domain,
      entities: [],
    }
    return (text) => {
      const answer = module.statefulIsAuthorized({ ...call, context: cedarContext(domain, text) })
      return answer.response?.decision === 'allow' ? 1 : 0
    }
  },
}
