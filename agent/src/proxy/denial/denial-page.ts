import type { NearMiss } from '@palisade/policy-core'
import type { MachineDecision } from '../../decision/active-policy.ts'
import type { ListedDecision } from '../../decision/listed-rules.ts'
import { describeDenial, describeRemedy } from './describe-denial.ts'

/** A denial as a page for browsers. Text from rules and clients is escaped. */
export function renderDenialPage(
  decision: ListedDecision<MachineDecision>,
  nearMisses: readonly NearMiss[],
): string {
  const rules = decision.rules.map(
    ({ rule_name, policy_name, resource }) =>
      `rule “${rule_name}” of policy “${policy_name}”: ${resource}`,
  )
  const omitted = decision.rules_omitted === undefined ? [] : [`and ${decision.rules_omitted} more`]
  const near = nearMisses.map(
    ({ rule_name, resource, message }) => `rule “${rule_name}”, ${resource}: ${message}`,
  )
  const remedy = describeRemedy(decision)
  return [
    '<!doctype html>',
    '<html lang="en"><meta charset="utf-8"><title>Denied by Palisade</title>',
    '<h1>Denied by Palisade</h1>',
    `<p>${escapeHtml(describeDenial(decision))}</p>`,
    ...list('Decided by', [...rules, ...omitted]),
    ...list('Nearly matched', near),
    ...(remedy === null ? [] : [`<p>${escapeHtml(remedy)}</p>`]),
    '</html>',
    '',
  ].join('\n')
}

function list(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return []
  const items = lines.map((line) => `<li>${escapeHtml(line)}</li>`)
  return [`<h2>${title}</h2>`, `<ul>${items.join('\n')}</ul>`]
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? '')
}
