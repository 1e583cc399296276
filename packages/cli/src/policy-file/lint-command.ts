import type { PolicyFile } from '@palisade/protocol'
import type { Command } from 'commander'
import { present, type RunContext } from '../run-context.ts'
import { loadPolicyFile } from './load-policy-file.ts'

/** `palisade lint` */
export function addLintCommand(program: Command, context: RunContext): void {
  program
    .command('lint')
    .summary('check a policy file')
    .description('Report everything in a policy file that cannot be evaluated.')
    .argument('<file>', 'policy file')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Exit codes: 0 nothing found, 2 problems (one line each on standard error)

Examples:
  palisade lint policies.json`,
    )
    .action(async (file: string, options: { readonly json?: true }) => {
      const { source } = await loadPolicyFile(context.io, file)
      const counts = countOf(source)
      await present(
        context,
        options.json,
        { file, ...counts },
        () =>
          context.style.plain(
            `${file}: ${counts.policies} policies, ${counts.rules} rules, all good`,
          ) + '\n',
      )
    })
}

function countOf(source: PolicyFile): { readonly policies: number; readonly rules: number } {
  const policies = [...(source.policies ?? []), ...(source.local ?? [])]
  const rules = policies.reduce((sum, policy) => sum + (policy.allowlist_v0?.rules.length ?? 0), 0)
  return { policies: policies.length, rules }
}
