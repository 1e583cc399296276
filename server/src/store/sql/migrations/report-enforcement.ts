import type { Dialect } from '../dialect.ts'

/** The last self-probe of a machine, and the policy that it enforces, in its newest report. */
export function reportEnforcement({ text }: Dialect): string {
  return `
  ALTER TABLE device_reports ADD COLUMN proxy_enforcement ${text};
  ALTER TABLE device_reports ADD COLUMN policy_digest ${text};
  `
}
