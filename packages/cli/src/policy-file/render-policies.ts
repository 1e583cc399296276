import type { ShownPolicy } from '@palisade/protocol'
import { Document, isMap, isSeq, type YAMLMap } from 'yaml'

const HEADER = ` yaml-language-server: $schema=.palisade.schema.json
 Policies as \`palisade apply\` reads them; \`palisade schema\` prints the schema.`
/** Long patterns stay on one line, because a diff would show a line break as a change. */
const NO_FOLDING = { lineWidth: 0 }

/** Renders a new YAML document of these policies. */
export function renderYaml(policies: readonly ShownPolicy[]): string {
  const document = new Document({ policies: policies.map(toPlain) })
  document.commentBefore = HEADER
  setStyle(document)
  return formatDocument(document)
}

/** Renders the policies as JSON, with `$schema` for editors. */
export function renderJson(policies: readonly ShownPolicy[], $schema?: string): string {
  return `${JSON.stringify({ $schema, policies: policies.map(toPlain) }, null, 2)}\n`
}

/** Formats a document as text. */
export function formatDocument(document: Document): string {
  return document.toString(NO_FOLDING)
}

/** Orders the members as a person would write them. */
export function toPlain({ name, scope, mode, rules }: ShownPolicy): object {
  return {
    name,
    scope,
    ...(mode === undefined ? {} : { mode }),
    rules: rules.map((rule) => ({
      name: rule.name,
      actions: rule.actions,
      decision: rule.decision,
      resources: rule.resources,
      ...(rule.expires_at === undefined ? {} : { expires_at: rule.expires_at }),
    })),
  }
}

/** Short lists on one line, and a blank line between policies. */
function setStyle(document: Document): void {
  const policies = document.get('policies')
  if (!isSeq(policies)) return
  for (const [index, policy] of policies.items.entries())
    if (isMap(policy)) {
      if (index > 0) policy.spaceBefore = true
      setPolicyStyle(policy)
    }
}

/** Sets the style of a policy that is new in its document. */
export function setPolicyStyle(policy: YAMLMap): void {
  const scope = policy.get('scope')
  if (isMap(scope)) scope.flow = true
  const rules = policy.get('rules')
  if (isSeq(rules)) for (const rule of rules.items) if (isMap(rule)) setRuleStyle(rule)
}

export function setRuleStyle(rule: YAMLMap): void {
  const actions = rule.get('actions')
  if (isSeq(actions)) actions.flow = true
}
