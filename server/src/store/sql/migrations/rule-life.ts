import type { Dialect } from '../dialect.ts'

/** When a rule expires, whether a policy is a shadow, and the default decisions. */
export function ruleLife({ text }: Dialect): string {
  return `
  -- Null: the rule never expires.
  ALTER TABLE rules ADD COLUMN expires_at ${text};
  -- Null: the policy enforces.
  ALTER TABLE policies ADD COLUMN mode ${text};
  -- 'enforce' or 'observe', for requests that no rule matches; null: no choice.
  ALTER TABLE organizations ADD COLUMN default_decision ${text};
  ALTER TABLE teams ADD COLUMN default_decision ${text};
  `
}
