import { lint, type Finding, type FindingRule } from '@palisade/policy-analysis'
import type { PolicySet } from '@palisade/policy-core'
import type { RunContext } from '../runtime/run-context.ts'
import { write } from '../runtime/write.ts'
import { isShownByDefault } from './format-findings.ts'

/** `palisade lint` shows all. */
const MAX_LINES = 10

/**
 * Warns of `lint` findings in rules that are being written, such as `*.com` or a deny that leaves
 * an allow without effect, and notes those that open protected addresses. Writes to stderr, which
 * is visible beside JSON output, too.
 */
export async function warnOfFindings(
  { io, style }: Pick<RunContext, 'io' | 'style'>,
  policies: NonNullable<PolicySet['policies']>,
  isWritten: (rule: FindingRule) => boolean,
): Promise<void> {
  const found = lint({ policies }, { now: io.now() }).filter(
    (finding) => isShownByDefault(finding) && finding.rules.some(isWritten),
  )
  const lines = found
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, MAX_LINES)
    .map((finding) => (rank(finding) === 0 ? style.warning : style.plain)(describe(finding)))
  const more = found.length - lines.length
  if (more > 0) lines.push(style.warning(`warning: and ${more} more; \`palisade lint\` shows all`))
  for (const line of lines) await write(io.stderr, `${line}\n`)
}

function rank({ severity }: Finding): number {
  return severity === 'info' ? 1 : 0
}

function describe(finding: Finding): string {
  const { rules, message, mend } = finding
  const rule = rules[0]?.rule_name ?? ''
  const word = rank(finding) === 0 ? 'warning' : 'note'
  return `${word}: ${rule === '' ? '' : `rule \`${rule}\`: `}${message}; ${mend}`
}
