import { basename, dirname } from 'node:path'
import { quotePath } from '../view/view-refusal.ts'
import type { KeptAside } from './kept-aside.ts'

/** Names that are told of. The records of the agent have them all. */
const MAX_NAMES = 20

/** A name that was taken away, with the rule that denies it if one does. */
export interface ToldAside extends KeptAside {
  readonly rule: { readonly rule_name: string; readonly policy_name: string } | null
}

/** Lines for the person who ran the command; empty unless a name was taken away. */
export function describeAside(all: readonly ToldAside[]): readonly string[] {
  if (all.length === 0) return []
  const names = all.length === 1 ? 'a name' : `${all.length} names`
  const lines = all.slice(0, MAX_NAMES).map(describe)
  const rest = all.length - lines.length
  return [
    `the command, or a program outside, made ${names} that the command must ` +
      'not leave, kept aside for you to read:',
    ...lines,
    ...(rest > 0 ? [`  and ${rest} more; \`palisade log\` lists them`] : []),
    'rename what you want back; a rule that allows `write` and spells a guarded name opens it, ' +
      'and `--strict` keeps all changes apart',
  ]
}

function describe({ path, aside, cause, rule }: ToldAside): string {
  const why =
    rule === null
      ? REASONS[cause]
      : `rule ${quotePath(rule.rule_name)} of policy ${quotePath(rule.policy_name)}`
  const isBeside = dirname(aside) === dirname(path)
  return `  ${quotePath(path)} → ${quotePath(isBeside ? basename(aside) : aside)} (${why})`
}

const REASONS: Readonly<Record<KeptAside['cause'], string>> = {
  denied: 'policy denies to write it',
  guarded: 'programs outside obey it',
  invalid: 'not UTF-8, so that names below it were not checked',
  repository: 'git outside obeys it',
}
