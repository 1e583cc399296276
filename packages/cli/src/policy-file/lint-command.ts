import { lint } from '@palisade/policy-analysis'
import type { PolicyFile } from '@palisade/protocol'
import type { Command } from 'commander'
import { EXIT } from '../runtime/exit-code.ts'
import { present, type RunContext } from '../runtime/run-context.ts'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { formatFindings, formatSummary, isShownByDefault } from './format-findings.ts'
import { loadPolicyFiles } from './load-policy-file.ts'

const MAX_NAMES = 3

/** `palisade lint` */
export function addLintCommand(program: Command, context: RunContext): void {
  program
    .command('lint')
    .summary('check policy files')
    .description(
      'Report all parts of policies that cannot be evaluated, have no effect, ' +
        'or are probably mistakes.',
    )
    .argument(
      '<paths...>',
      'policy file, or files and directories as `palisade plan` reads them; these are one set',
    )
    .option('--all', 'show informational findings as well')
    .option('--json', 'print one JSON object with all findings')
    .addHelpText(
      'after',
      `
Exit codes: 0 neither errors nor warnings, 1 errors or warnings,
            2 not evaluated (one line per problem on standard error)

Examples:
  palisade lint policies.json
  palisade lint policies/
  palisade lint web.yaml build/policies/`,
    )
    .action(async (paths: string[], options: { readonly all?: true; readonly json?: true }) => {
      const { source, locationOf } = await loadPolicyFiles(context.io, paths)
      const counts = countOf(source)
      // Without `user_teams`, lint gets the policies of all teams; it considers teams itself.
      const { user_teams: _, ...set } = source
      const findings = lint(set, { now: context.io.now() }).map((finding) =>
        locationOf === undefined ? finding : { ...finding, places: finding.rules.map(locationOf) },
      )
      const [file = '', ...others] = paths
      const named = others.length === 0 ? { file } : { files: paths }
      await present(context, options.json, { ...named, ...counts, findings }, () => {
        const shown = options.all === true ? findings : findings.filter(isShownByDefault)
        const summary = formatSummary(findings, shown)
        const where = others.length === 0 ? file : count(paths.length, 'path')
        return (
          formatFindings(shown, context.style) +
          describeLocalAllows(source, context.style) +
          context.style.plain(
            `${where}: ${count(counts.policies, 'policy', 'policies')}, ` +
              `${count(counts.rules, 'rule')}, ${summary}`,
          ) +
          '\n'
        )
      })
      if (findings.some(({ severity }) => severity !== 'info')) context.exit(EXIT.failed)
    })
}

/** Local allows are compiled, but have no effect on a machine that an organization governs. */
function describeLocalAllows({ local = [], governed }: PolicyFile, style: Style): string {
  if (governed === false) return ''
  const rules = local.flatMap((policy) => policy.allowlist_v0?.rules ?? [])
  const allows = rules.filter(({ decision }) => decision === 'allow')
  if (allows.length === 0) return ''
  const names = allows.slice(0, MAX_NAMES).map(({ name }) => `\`${name}\``)
  const more = allows.length > names.length ? ', …' : ''
  const noun = allows.length === 1 ? 'allow' : 'allows'
  const warning =
    `inactive: local ${noun} ${names.join(', ')}${more}; ` +
    'the organization governs this machine, only local denies apply'
  return `${style.warning(warning)}\n`
}

function countOf(source: PolicyFile): { readonly policies: number; readonly rules: number } {
  const policies = [...(source.policies ?? []), ...(source.local ?? [])]
  const rules = policies.reduce((sum, policy) => sum + (policy.allowlist_v0?.rules.length ?? 0), 0)
  return { policies: policies.length, rules }
}
