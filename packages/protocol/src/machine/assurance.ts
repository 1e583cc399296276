import { z } from 'zod'

/**
 * How strongly a machine holds its policy, as its last self-probes have shown; the weakest first.
 *
 * - `decisions-only`: no enforcement point has shown lately that it holds.
 * - `proxy-only`: the proxy held in each dialect. A program that ignores it is not confined.
 * - `linux-sandbox`: a sandbox held too, tried from inside.
 * - `linux-strict`: a strict sandbox held too: changes to a workspace wait for a review.
 */
export const ASSURANCE_CLASSES = [
  'decisions-only',
  'proxy-only',
  'linux-sandbox',
  'linux-strict',
] as const
export const assuranceClassSchema = z.enum(ASSURANCE_CLASSES)
export type AssuranceClass = z.infer<typeof assuranceClassSchema>

/** A filter by class: `CLASS`, or `<CLASS` for weaker ones and for machines without a class. */
export const ASSURANCE_FILTERS = [
  ...ASSURANCE_CLASSES,
  '<proxy-only',
  '<linux-sandbox',
  '<linux-strict',
] as const
export const assuranceFilterSchema = z
  .enum(ASSURANCE_FILTERS)
  .meta({ description: 'A class, or `<CLASS` for weaker ones and devices without one' })
export type AssuranceFilter = z.infer<typeof assuranceFilterSchema>

/** The classes that a filter matches, and whether it matches a machine without one. */
export function classesOf(filter: AssuranceFilter): {
  readonly classes: readonly AssuranceClass[]
  readonly orNone: boolean
} {
  if (!filter.startsWith('<'))
    return { classes: [assuranceClassSchema.parse(filter)], orNone: false }
  const end = ASSURANCE_CLASSES.findIndex((each) => `<${each}` === filter)
  return { classes: ASSURANCE_CLASSES.slice(0, end), orNone: true }
}

export const assuranceSchema = z.object({
  class: assuranceClassSchema,
  /** Why the class is not the next higher one; null for the highest. A sentence for people. */
  reason: z.string().nullable(),
})
export type Assurance = z.infer<typeof assuranceSchema>
