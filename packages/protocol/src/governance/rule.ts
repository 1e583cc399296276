import { ACTIONS, FILESYSTEM_ACTIONS, NETWORK_ACTIONS } from '@palisade/policy-core'
import { z } from 'zod'
import { nameSchema } from '../name.ts'

/** Longest resource pattern, in UTF-16 code units. */
export const MAX_RESOURCE_LENGTH = 4096

/** A rule has actions of one domain only. */
const MAX_ACTIONS = Math.max(NETWORK_ACTIONS.length, FILESYSTEM_ACTIONS.length)

const actionsSchema = z
  .array(z.enum(ACTIONS))
  .min(1, 'must name at least one action')
  .max(MAX_ACTIONS, `must name at most ${MAX_ACTIONS} actions`)
  .refine((actions) => new Set(actions).size === actions.length, 'must not repeat an action')
  .meta({ description: 'Actions of the rule, all of one domain', uniqueItems: true })

const decisionSchema = z
  .enum(['allow', 'deny'])
  .meta({ description: 'A matching `deny` overrides every allow' })

const resourcesSchema = z
  .array(z.string().max(MAX_RESOURCE_LENGTH, `must be at most ${MAX_RESOURCE_LENGTH} characters`))
  .min(1, 'must name at least one resource')
  .meta({
    description:
      'Patterns: `example.com:443`, `*.example.com`, `**.example.com`, `10.0.0.0/8`; ' +
      'or `/data/*`, `/data/**`, `~/work/**`',
  })

/** A rule as the API returns it. */
export const ruleSchema = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    actions: z.array(z.enum(ACTIONS)),
    decision: decisionSchema,
    resources: z.array(z.string()),
  })
  .meta({ id: 'Rule' })
export type RuleBody = z.infer<typeof ruleSchema>

export const createRuleRequestSchema = z
  .strictObject({
    name: nameSchema,
    actions: actionsSchema,
    decision: decisionSchema,
    resources: resourcesSchema,
  })
  .meta({
    id: 'CreateRuleRequest',
    examples: [
      {
        name: 'example sites',
        actions: ['connect:tcp'],
        decision: 'allow',
        resources: ['example.com:443', '*.example.com:443', '203.0.113.0/24'],
      },
      { name: 'keys', actions: ['read', 'write'], decision: 'deny', resources: ['~/.ssh/**'] },
    ],
  })
export type CreateRuleRequest = z.infer<typeof createRuleRequestSchema>

export const updateRuleRequestSchema = createRuleRequestSchema
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'at least one member must be present')
  .meta({
    id: 'UpdateRuleRequest',
    minProperties: 1,
    examples: [{ decision: 'deny' }, { resources: ['example.com'] }],
  })
export type UpdateRuleRequest = z.infer<typeof updateRuleRequestSchema>

export const updateRuleResponseSchema = z
  .strictObject({ old: ruleSchema, new: ruleSchema })
  .meta({ id: 'UpdateRuleResponse' })

export const deleteRuleResponseSchema = z
  .strictObject({ deleted: ruleSchema })
  .meta({ id: 'DeleteRuleResponse' })
