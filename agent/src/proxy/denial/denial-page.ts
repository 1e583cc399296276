import type { NearMiss } from '@palisade/policy-core'
import { hash } from 'node:crypto'
import type { MachineDecision } from '../../policy/decision/active-policy.ts'
import type { ListedDecision } from '../../policy/decision/listed-rules.ts'
import {
  adviceOf,
  commandOfDetails,
  describeAccess,
  describeOutcome,
  describeRemedy,
} from './describe-denial.ts'

const STYLE = [
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem;',
  'color:#1c2024;background:#fff}',
  'h1{font-size:1.5rem}h2{font-size:1rem;margin-bottom:.25rem}ul{margin-top:0}',
  'code{display:block;padding:.5rem .75rem;border:1px solid #c9ced4;border-radius:6px;',
  'background:#f5f6f8;overflow-wrap:anywhere;user-select:all}',
  '.support{padding:.5rem .75rem;border-left:4px solid #3b6ea8;background:#eef3f9}',
  '@media(prefers-color-scheme:dark){body{color:#e6e8ea;background:#16181b}',
  'code{background:#22262b;border-color:#3a4047}.support{background:#1d2733}}',
].join('')

const STYLE_HASH = hash('sha256', STYLE, 'base64')

/** Permits the style of the page alone. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'`

/**
 * A denial as a page for browsers. Text from rules and clients is escaped. A click selects a whole
 * command; the page needs no script for it.
 */
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
  const advice = adviceOf(decision)
  const support = decision.support_message
  return [
    '<!doctype html>',
    '<html lang="en"><meta charset="utf-8"><title>Denied by Palisade</title>',
    '<meta name="viewport" content="width=device-width">',
    `<style>${STYLE}</style>`,
    '<h1>Denied by Palisade</h1>',
    `<p>${escapeHtml(describeOutcome(decision))}.</p>`,
    ...(support === undefined ? [] : [`<p class="support">${escapeHtml(support)}</p>`]),
    ...command('Details', commandOfDetails(decision)),
    ...(typeof advice?.command === 'string'
      ? command('Ask for access for a while', advice.command)
      : []),
    ...(advice === null ? [] : command('Rule that an editor can add', advice.rule)),
    ...list('Decided by', [...rules, ...omitted]),
    ...list('Nearly matched', near),
    ...(describeRemedy(decision) === null || advice !== null
      ? []
      : [`<p>${escapeHtml(toSentence(describeAccess(decision)))}</p>`]),
    '</html>',
    '',
  ].join('\n')
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function command(title: string, text: string): readonly string[] {
  return [`<h2>${title}</h2>`, `<code>${escapeHtml(text)}</code>`]
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
