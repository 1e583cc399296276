import {
  createDetailedPolicyRequestSchema,
  createDetailedRuleRequestSchema,
  createPolicyRequestSchema,
  createRuleRequestSchema,
  updateDetailedPolicyRequestSchema,
  updateDetailedRuleRequestSchema,
  updatePolicyRequestSchema,
  updateRuleRequestSchema,
  type CreateDetailedPolicyRequest,
  type CreateDetailedRuleRequest,
  type UpdateDetailedPolicyRequest,
  type UpdateDetailedRuleRequest,
} from '@palisade/protocol'
import type { z } from 'zod'
import {
  formatDetailedPolicy,
  formatDetailedRule,
  formatDetailedSummary,
  formatPolicy,
  formatRule,
  formatSummary,
} from '../store/aggregates/policies/format-policy.ts'
import type { PolicyHeadRecord, PolicyRecord, RuleRecord } from '../store/records.ts'
import { findWarnings } from './rule-warnings.ts'

/** How policies and rules are read and written on the wire. */
export interface WireForm {
  /** Part of the scope of idempotency keys. */
  readonly name: 'contract' | 'detailed'
  readonly createPolicy: z.ZodType<CreateDetailedPolicyRequest>
  readonly updatePolicy: z.ZodType<UpdateDetailedPolicyRequest>
  readonly createRule: z.ZodType<CreateDetailedRuleRequest>
  readonly updateRule: z.ZodType<UpdateDetailedRuleRequest>
  readonly formatSummary: (policy: PolicyHeadRecord) => object
  readonly formatPolicy: (policy: PolicyRecord) => object
  readonly formatRule: (rule: RuleRecord) => object
  /** Members of the answer to a write of the rule that are no part of it. */
  readonly adviseOn: (rule: RuleRecord) => object
}

/** Names a POST for its idempotency key; equal bodies of two forms are two requests. */
export function operationOf({ name }: WireForm, operation: string): readonly string[] {
  return name === 'contract' ? [operation] : [operation, name]
}

/** The governance API. Its writes keep the members that it does not have. */
export const CONTRACT: WireForm = {
  name: 'contract',
  createPolicy: createPolicyRequestSchema,
  updatePolicy: updatePolicyRequestSchema,
  createRule: createRuleRequestSchema,
  updateRule: updateRuleRequestSchema,
  formatSummary,
  formatPolicy,
  formatRule,
  adviseOn: () => ({}),
}

/** The governance API with `mode`, `expires_at`, and warnings in the answers to writes of rules. */
export const DETAILED: WireForm = {
  name: 'detailed',
  createPolicy: createDetailedPolicyRequestSchema,
  updatePolicy: updateDetailedPolicyRequestSchema,
  createRule: createDetailedRuleRequestSchema,
  updateRule: updateDetailedRuleRequestSchema,
  formatSummary: formatDetailedSummary,
  formatPolicy: formatDetailedPolicy,
  formatRule: formatDetailedRule,
  adviseOn(rule) {
    const warnings = findWarnings(rule)
    return warnings.length === 0 ? {} : { warnings }
  },
}
