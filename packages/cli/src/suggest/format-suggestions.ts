import type { SuggestionsResponse } from '@palisade/protocol'
import { count } from '../terminal/count.ts'
import { quoteShell } from '../terminal/quote-shell.ts'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'
import { describeTeams } from './describe-suggestion.ts'

/** A summary for people, beside the file that was written. */
export function formatSuggestions(answer: SuggestionsResponse, out: string, style: Style): string {
  const { suggestions, not_covered_totals, examined } = answer
  const rows = suggestions.map(({ action, resource, teams, evidence, members, marks }) => [
    `${action} ${resource}`,
    describeTeams(teams),
    String(evidence.devices),
    `${evidence.users} of ${members}`,
    String(evidence.decisions),
    marks.join(', '),
  ])
  const heads = ['RESOURCE', 'FOR', 'DEVICES', 'MEMBERS', 'DECISIONS', 'LOOK TWICE']
  const table = rows.length === 0 ? '' : formatTable(heads, rows, style)
  const left = not_covered_totals.map(({ reason, targets }) => `${targets} ${reason}`)
  const notes = [
    `${out}: ${count(suggestions.length, 'resource')} ` +
      `from ${count(examined.decisions, 'decision')}`,
    ...(left.length === 0 ? [] : [`not covered: ${left.join(', ')}; the file says why`]),
    ...(suggestions.length === 0 ? [] : [`next: palisade plan ${quoteShell(out)}`]),
  ]
  return table + notes.map((note) => `${style.plain(note)}\n`).join('')
}
