import {
  compilePolicy,
  decide,
  effectivePolicies,
  policyAt,
  type CompiledPolicy,
  type Policy,
  type Rule,
} from '@palisade/policy-core'

/** The policies of an organization, in force or as a draft would have them. */
export interface ReplaySide {
  /** Policies for everybody and for all teams. */
  readonly policies: readonly Policy[]
  readonly resolve_unlisted_names: boolean
  /** `enforce` or `observe`; absent means `enforce`. */
  readonly default?: string | undefined
}

/** The policies that apply to members of the same teams. */
export interface CompiledSide {
  readonly compiled: CompiledPolicy
  /** Whether a pattern with `~` could match a path, whatever directory `~` stands for. */
  readonly mayDependOnHome: (action: string, path: string) => boolean
}

/**
 * Compiles the policies of a side for members of `teams`, as they are at `now`. Stored patterns may
 * exceed the limits of new ones.
 */
export function compileSide(side: ReplaySide, teams: readonly string[], now: number): CompiledSide {
  const { resolve_unlisted_names, default: byDefault } = side
  const policies = effectivePolicies(side.policies, teams)
  const compiled = compilePolicy(
    { policies, resolve_unlisted_names, default: byDefault },
    { patternLimits: false },
  )
  return { compiled: policyAt(compiled, now), mayDependOnHome: createHomeTest(policies, now) }
}

const HOME = /^~(?=\/|$)/

/**
 * Replaces `~` by any directory: a path without a match then is one that no home makes match. A
 * deny counts as much as an allow. Expired rules and shadow policies decide nothing in any home.
 */
function createHomeTest(policies: readonly Policy[], now: number): CompiledSide['mayDependOnHome'] {
  const inAnyHome = policies.map(allowInAnyHome)
  if (inAnyHome.every(({ allowlist_v0 }) => allowlist_v0?.rules.length === 0)) return () => false
  const inAny = policyAt(compilePolicy({ policies: inAnyHome }, { patternLimits: false }), now)
  return (action, path) => decide(inAny, { action, path }).decision === 'allow'
}

/** The rules with `~` alone, as allows. */
function allowInAnyHome({ allowlist_v0, ...policy }: Policy): Policy {
  const rules = (allowlist_v0?.rules ?? []).flatMap((rule): Rule[] => {
    const homes = rule.resources.filter((resource) => HOME.test(resource))
    if (homes.length === 0) return []
    const resources = [...new Set(homes.flatMap(inEveryDirectory))]
    return [{ ...rule, decision: 'allow', resources }]
  })
  return { ...policy, allowlist_v0: { rules } }
}

/** Below the root, and in it. */
function inEveryDirectory(resource: string): string[] {
  const rest = resource.replace(HOME, '')
  return [`/**${rest}`, rest === '' ? '/' : rest]
}
