import { canonicalAddress, checkRule } from '@palisade/policy-core'
import { isPublicSuffix } from './registrable-domain.ts'
import { describeSensitivePath } from './sensitive-path.ts'
import type { Target } from './sort-requests.ts'
import type { Seen } from './suggest-input.ts'
import { formatTarget, type Uncovered } from './uncovered-requests.ts'

/** A target that a rule may open, with the sightings that no rule matches. */
export interface Candidate {
  readonly target: Target
  /** Matches the target alone. */
  readonly resource: string
  readonly seen: readonly Seen[]
}

/** The resource that matches a target and nothing else, or the reason why none may be suggested. */
export function writeResource(target: Target): string | Uncovered {
  const { host, path, action, isTree } = target
  const text = formatTarget(target)
  const resource = isTree ? `${text}/**` : text
  const why = path === null ? null : describeSensitivePath(path)
  if (why !== null)
    return { reason: 'sensitive_path', detail: `it is ${why}; write such a rule by hand` }
  if (host !== null && isNamePublic(host))
    return {
      reason: 'public_suffix',
      detail: `\`${host}\` is a public suffix: strangers have names below it, or content in it`,
    }
  // A reader of the file would take the path for another one.
  if (/[\p{Cf}\p{Zl}\p{Zp}]/u.test(path ?? ''))
    return {
      reason: 'not_expressible',
      detail: 'the path has an invisible character; write such a rule by hand',
    }
  // `*` is a letter of the name on disk, and a wildcard in a rule.
  const isWildcard = text.includes('*')
  const [problem] = checkRule({ actions: [action], decision: 'allow', resources: [resource] })
  if (isWildcard || problem !== undefined)
    return {
      reason: 'not_expressible',
      detail: problem?.message ?? '`*` in a rule matches other names too',
    }
  return resource
}

function isNamePublic(host: string): boolean {
  return canonicalAddress(host) === null && isPublicSuffix(host)
}
