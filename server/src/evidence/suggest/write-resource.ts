import { canonicalAddress, checkRule } from '@palisade/policy-core'
import type { UncoveredReason } from '@palisade/protocol'
import { isPublicSuffix } from './registrable-domain.ts'
import { describeSensitivePath } from './sensitive-path.ts'
import { formatTarget, type Target } from './sort-requests.ts'

/** The exact resource of a target, or the reason why none may be suggested. */
export type WrittenResource =
  | { readonly ok: true; readonly resource: string }
  | { readonly ok: false; readonly reason: UncoveredReason; readonly detail: string }

/** Writes the resource that matches a target and nothing else. */
export function writeResource(target: Target): WrittenResource {
  const { host, path, action, isTree } = target
  const text = formatTarget(target)
  const resource = isTree ? `${text}/**` : text
  const why = path === null ? null : describeSensitivePath(path)
  if (why !== null) return refuse('sensitive_path', `it is ${why}; write such a rule by hand`)
  if (host !== null && isNamePublic(host))
    return refuse(
      'public_suffix',
      `\`${host}\` is a public suffix: strangers have names below it, or content in it`,
    )
  // A reader of the file would take the path for another one.
  if (/[\p{Cf}\p{Zl}\p{Zp}]/u.test(path ?? ''))
    return refuse(
      'not_expressible',
      'the path has an invisible character; write such a rule by hand',
    )
  // `*` is a letter of the name on disk, and a wildcard in a rule.
  const isWildcard = text.includes('*')
  const [problem] = checkRule({ actions: [action], decision: 'allow', resources: [resource] })
  if (isWildcard || problem !== undefined)
    return refuse('not_expressible', problem?.message ?? '`*` in a rule matches other names too')
  return { ok: true, resource }
}

function isNamePublic(host: string): boolean {
  return canonicalAddress(host) === null && isPublicSuffix(host)
}

function refuse(reason: UncoveredReason, detail: string): WrittenResource {
  return { ok: false, reason, detail }
}
