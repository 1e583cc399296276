import type { ApplyResponse } from '@palisade/protocol'
import type { Style } from '../terminal/style.ts'
import type { PlanComparison } from './compare-audiences.ts'
import { formatDifferences, listDifferences } from './format-changes.ts'
import { formatComparison } from './format-comparison.ts'

/** A plan with the values that it is shown with. */
export interface ShownPlan {
  readonly org: string
  readonly plan: ApplyResponse
  readonly comparison: PlanComparison
  /** Directory that `~` stood for. */
  readonly home: string
}

/**
 * Formats a plan: changes of the policies, their effect, and a last line that counts.
 */
export function formatPlan({ org, plan, comparison, home }: ShownPlan, style: Style): string {
  const parts = [
    style.strong(`${org}, revision ${plan.revision}`).concat('\n'),
    formatDifferences(listDifferences(plan.changes), style),
    formatComparison(comparison, style) +
      (usesHome(plan) ? `\`~\` stands for ${style.plain(home)}\n` : ''),
    formatUnmanaged(plan, style) + `${style.strong(summarize(plan))}\n`,
  ]
  return parts.filter((part) => part !== '').join('\n')
}

/** "2 to create, 1 to change, 1 to delete, 4 unchanged" */
export function summarize({ changes, unchanged }: ApplyResponse): string {
  const count = (change: string): number => changes.filter((each) => each.change === change).length
  if (changes.length === 0) return `nothing to change, ${unchanged} unchanged`
  return [
    `${count('created')} to create`,
    `${count('updated')} to change`,
    `${count('deleted')} to delete`,
    `${unchanged} unchanged`,
  ].join(', ')
}

function formatUnmanaged({ unmanaged }: ApplyResponse, style: Style): string {
  if (unmanaged.length === 0) return ''
  const names = unmanaged.map((name) => `\`${name}\``).join(', ')
  return `${style.plain(`not in the files, and left alone without \`--prune\`: ${names}`)}\n`
}

function usesHome({ changes }: ApplyResponse): boolean {
  return changes.some((change) =>
    [change.old, change.new].some((policy) =>
      policy?.rules.some(({ resources }) => resources.some((resource) => resource.startsWith('~'))),
    ),
  )
}
