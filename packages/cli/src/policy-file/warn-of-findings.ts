import { lint, type Finding, type FindingRule, type PolicySet } from '@palisade/policy-core'
import type { RunContext } from '../run-context.ts'
import { write } from '../terminal/write.ts'

/** `palisade lint` shows all. */
const MAX_LINES = 10

/**
 * Warns of `lint` findings in rules that are being written, such as `*.com` or a deny that leaves
 * an allow without effect. Writes to stderr, which is visible beside JSON output, too.
 */
export async function warnOfFindings(
  { io, style }: Pick<RunContext, 'io' | 'style'>,
  policies: NonNullable<PolicySet['policies']>,
  isWritten: (rule: FindingRule) => boolean,
): Promise<void> {
  const found = lint({ policies }, { now: io.now() }).filter(
    ({ severity, rules }) => severity !== 'info' && rules.some(isWritten),
  )
  const lines = found.slice(0, MAX_LINES).map((finding) => style.warning(describe(finding)))
  const more = found.length - lines.length
  if (more > 0) lines.push(style.warning(`warning: and ${more} more; \`palisade lint\` shows all`))
  for (const line of lines) await write(io.stderr, `${line}\n`)
}

function describe({ rules, message, mend }: Finding): string {
  const rule = rules[0]?.rule_name ?? ''
  return `warning: ${rule === '' ? '' : `rule \`${rule}\`: `}${message}; ${mend}`
}
