import type { AccessSettings, EvidenceSettings, OrganizationBody } from '@palisade/protocol'
import { formatDuration } from '../../options/duration.ts'
import { formatPairs } from '../../terminal/pairs.ts'
import type { Style } from '../../terminal/style.ts'

/** An organization and its settings, one a line. */
export function formatOrganization(body: OrganizationBody, style: Style): string {
  const { fresh_for_seconds, expires_after_seconds, offline_allow } = body.distribution
  return formatPairs(
    [
      ['organization', style.plain(body.name)],
      [
        'governance',
        body.entitled ? 'on' : style.warning('off: an operator of the server turns it on'),
      ],
      ['revision', `${body.revision}`],
      ['created', style.plain(body.created_at)],
      ['resolve unlisted names', body.resolve_unlisted_names ? 'on' : 'off'],
      ['default', formatDefault(body, style)],
      ['support message', style.plain(body.support_message ?? 'no text')],
      ['fresh for', formatDuration(fresh_for_seconds)],
      ['expires after', formatDuration(expires_after_seconds)],
      ['offline allow', offline_allow.map(style.plain).join(', ') || 'no host'],
      ...formatEvidence(body.evidence),
      ...formatAccess(body.access),
    ],
    style,
  )
}

function formatDefault({ default: chosen }: OrganizationBody, style: Style): string {
  if (chosen === 'observe')
    return style.warning('observe: requests that no rule matches are allowed and recorded')
  return chosen ?? 'enforce, unless teams of a user choose observe'
}

function formatAccess(settings: AccessSettings): [string, string][] {
  const { longest_seconds, most_open, answer_within_seconds } = settings
  return [
    ['access lasts', `at most ${formatDuration(longest_seconds)}`],
    ['access grants', `at most ${most_open} of a user at a time`],
    ['access answered', `within ${formatDuration(answer_within_seconds)}`],
  ]
}

/** Only the mode while the upload is off. */
function formatEvidence(settings: EvidenceSettings): [string, string][] {
  const { upload, sample_percent, path_depth, programs, users } = settings
  if (upload === 'off') return [['upload', 'off: decision records stay on the machines']]
  const part = upload === 'sampled' ? `: denials, and ${sample_percent} % of the allowed` : ''
  return [
    ['upload', `${upload}${part}`],
    ['uploaded paths', path_depth === 0 ? 'none' : `the first ${path_depth} segments`],
    ['uploaded programs', programs ? 'yes' : 'no'],
    ['uploaded users', users ? 'yes' : 'no'],
  ]
}
