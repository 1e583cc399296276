import { compare, lint } from '@palisade/policy-analysis'
import {
  canonicalAddress,
  canonicalHost,
  checkRule,
  compilePolicy,
  isNetworkAction,
  MAX_PATH_COST,
  pathCost,
  pathLoad,
  type Action,
  type CompiledPolicy,
  type Policy,
} from '@palisade/policy-core'
import {
  hasOneOwner,
  isPublicSuffix,
  ownerOfName,
} from '../../evidence/suggest/registrable-domain.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import { quote } from '../../http/input/describe-issue.ts'
import { foldPath } from '../../platform/fold-path.ts'
import {
  HOMES,
  indicesBelowRoots,
  isNamed,
  OTHER_NAMES,
  OTHER_ROOTS,
  type DirectoryPattern,
} from '../../platform/home-directories.ts'

/** Allows of one action, as a request asks for them or a grant gives them. */
export interface Allowed {
  readonly action: Action
  readonly resources: readonly string[]
}

/** What `~` stands for where no machine is asked. */
const HOME = '/home/user'
/** Each takes a fraction of a millisecond: the policies are of ten patterns at most. */
const MAX_STEPS = 100_000
/**
 * Most steps of one decision on the paths of a grant. A machine has several beside its policies,
 * and a review decides thousands of records.
 */
const MAX_GRANT_COST = MAX_PATH_COST / 10
/** Every address that is not protected. */
const EVERY_ADDRESS = ['0.0.0.0/0', '::/0']
const EVERY_HOME: readonly DirectoryPattern[] = [['~'], ...HOMES]

/**
 * Throws ApiError 400 for resources that no grant may have: ones that are not patterns of the
 * action, that open a protected address, everything, or a whole home directory, or that make
 * decisions slow. Policies can open those, with the review that policies get.
 */
export function requireGrantable({
  action,
  resources,
  once = false,
}: Allowed & { readonly once?: boolean }): void {
  // Machines see connections, and spend such a grant by one; a path stays open in a sandbox.
  if (once && !isNetworkAction(action))
    throw invalidArgument('`once` is for connections only; ask for a short time instead', {
      field: 'once',
    })
  const rule = { actions: [action], decision: 'allow', resources } as const
  const [problem] = checkRule(rule)
  if (problem !== undefined)
    throw invalidArgument(`\`${problem.member}\`: ${problem.message}`, {
      field: problem.member,
      reason: problem.reason,
    })
  const cost = pathCost(pathLoad([rule]))
  if (cost > MAX_GRANT_COST)
    throw invalidArgument(
      `the path patterns can make one decision take ${cost} steps, and ${MAX_GRANT_COST} is the ` +
        'limit of a grant; write fewer `*` and `**`',
      { field: 'resources', reason: 'path_cost' },
    )
  for (const [index, resource] of resources.entries()) {
    const fault = isNetworkAction(action)
      ? faultOfNetwork(action, resource)
      : faultOfPath(action, resource)
    if (fault !== null)
      throw invalidArgument(`${quote(resource)} ${fault}`, {
        field: `resources[${index}]`,
        reason: 'not_grantable',
      })
  }
}

/** Null for a grantable pattern. */
function faultOfNetwork(action: Action, resource: string): string | null {
  const open = compilePolicy({ policies: [policyOf({ action, resources: EVERY_ADDRESS })] })
  const found = compare(open, compileAllowed({ action, resources: [resource] }), {
    maxSteps: MAX_STEPS,
  })
  const opens = found.reachable.some(
    ({ example }) => 'host' in example && canonicalAddress(example.host) !== null,
  )
  if (opens || !found.complete)
    return 'opens a protected address, which no grant may do; an editor can write a policy for it'
  if (isBelowPublicSuffix(resource))
    return 'is too broad for a grant: strangers have names there; name the domains that are needed'
  return faultOfBreadth({ action, resources: [resource] })
}

/** The linter knows the most common suffixes only, because the list is large. */
function isBelowPublicSuffix(resource: string): boolean {
  const [, stars, domain = ''] = /^(\*{1,2})\.(.+?)(?::\d+)?$/.exec(resource) ?? []
  const host = canonicalHost(domain)
  if (host?.kind !== 'name' || ownerOfName(host.name).suffix === 'unknown') return false
  return stars === '*' ? isPublicSuffix(host.name) : !hasOneOwner(host.name)
}

function faultOfPath(action: Action, resource: string): string | null {
  const segments = foldPath(resource)
    .split('/')
    .filter((each) => each !== '')
  const beginnings = [...indicesBelowRoots(segments)]
  if (beginnings.some((from) => isAtHome(segments, from)))
    return 'opens a whole home directory or more; name a folder such as `~/project/**`'
  if (beginnings.some((from) => isUnderOtherName(segments, from)))
    return 'opens files under other names; name their own directory'
  return faultOfBreadth({ action, resources: [resource] })
}

const WILDCARD = /\*/
/** Directories seldom have an ending, and a workspace opens all that is in them. */
const ENDING = /\*[^*]*\.[\p{L}\p{N}]+$/u

/**
 * Whether a folded pattern is a home directory or one above it, or has wildcards there, for
 * directories or for everything, such as `~/.*` and `~/*o*`. `~/*.txt` has none of these. The
 * pattern begins at an index: below another name of the root it is checked anew.
 */
function isAtHome(segments: readonly string[], from: number): boolean {
  if (OTHER_ROOTS.some((root) => endsIn(segments, root, from) === 'above')) return true
  return EVERY_HOME.some((home) => {
    const end = endsIn(segments, home, from)
    if (end !== 'below') return end === 'above'
    const [first = '', ...others] = segments.slice(from + home.length)
    return WILDCARD.test(first) && (others.length > 0 || !ENDING.test(first))
  })
}

/** Where a pattern leads: to a directory or above it, below it, or elsewhere. */
function endsIn(
  segments: readonly string[],
  directory: DirectoryPattern,
  from: number,
): 'above' | 'below' | 'elsewhere' {
  for (const [index, name] of directory.entries()) {
    const segment = segments[from + index]
    if (segment === undefined) return 'above'
    if (segment.includes('**') || !isNamed(segment, name))
      return WILDCARD.test(segment) ? 'above' : 'elsewhere'
  }
  return segments.length === from + directory.length ? 'above' : 'below'
}

/** Names of the system's own files, such as `/proc/cpuinfo`, are none. */
function isUnderOtherName(segments: readonly string[], from: number): boolean {
  if (segments[from] === 'proc')
    return segments.length > from + 2 || WILDCARD.test(segments[from + 1] ?? '')
  return OTHER_NAMES.some((directory) => endsIn(segments, directory, from) !== 'elsewhere')
}

function faultOfBreadth(allowed: Allowed): string | null {
  const found = lint({ policies: [policyOf(allowed)] }).find(
    ({ code }) => code === 'too_broad' || code === 'protected_name',
  )
  if (found === undefined) return null
  return found.code === 'too_broad'
    ? `is too broad for a grant; ${found.mend}`
    : 'is the machine itself or a cloud metadata service, which no grant opens'
}

/** A policy with one rule, which allows this. */
export function policyOf({ action, resources }: Allowed): Policy {
  const names = { id: 'access_grant', name: 'access grant' }
  const rule = { ...names, actions: [action], decision: 'allow', resources } as const
  return { ...names, allowlist_v0: { rules: [rule] } }
}

/** `home` is the meaning of `~`. */
export function compileAllowed(allowed: Allowed, home: string = HOME): CompiledPolicy {
  return compilePolicy({ policies: [policyOf(allowed)], home }, { patternLimits: false })
}
