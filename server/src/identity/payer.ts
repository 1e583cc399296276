import type { Payer } from '../work/work-budget.ts'
import type { Access } from './authorize.ts'
import { formatPrincipal, type Principal } from './principal.ts'

/** The payer whose budget is charged for work done for the principal. */
export function payerOf(principal: Principal, { organization, permissions }: Access): Payer {
  return {
    org: organization.name,
    caller: formatPrincipal(principal),
    isWriter: permissions.includes('policies:write'),
  }
}
