import { z } from 'zod'
import { instantMs } from '../../policy/state/instant.ts'

const ROLES = ['timestamp', 'snapshot', 'targets'] as const

const versionsSchema = z.strictObject({
  timestamp: z.int(),
  snapshot: z.int(),
  targets: z.int(),
})
export type Versions = Readonly<z.infer<typeof versionsSchema>>

/** The highest accepted versions of a view. */
const markSchema = versionsSchema.extend({
  /** Their latest issue, in milliseconds since 1970. */
  issued_ms: instantMs,
})

/** Members of the state on disk; every update writes all of them. */
export const viewMarksShape = {
  /**
   * Marks of the views that this device had last: a device that returns to one must not fall behind
   * in it.
   */
  marks: z.record(z.string(), markSchema),
  /**
   * A view without a mark must be issued after this, in milliseconds since 1970; 0 for any time.
   */
  marks_floor_ms: instantMs,
}
export type ViewMarks = Readonly<z.infer<z.ZodObject<typeof viewMarksShape>>>

export const NO_MARKS: ViewMarks = { marks: {}, marks_floor_ms: 0 }

/**
 * About 100 bytes each. A machine changes its view by a rollout, or when its user changes teams.
 */
const MAX_MARKS = 1_024
/** Largest clock difference of two servers that sign one view. */
const CLOCKS_APART_MS = 10 * 60_000

/** Signed files of one view. */
export interface Issue {
  readonly view: string
  readonly versions: Versions
  readonly issuedMs: number
}

/** Whether files are older, or may be older, than the accepted ones of their view. */
export function isBehind({ marks, marks_floor_ms }: ViewMarks, issue: Issue): boolean {
  const mark = Object.hasOwn(marks, issue.view) ? marks[issue.view] : undefined
  // Zero means no floor, because no file is issued before 1970.
  if (mark === undefined) return issue.issuedMs <= marks_floor_ms
  return ROLES.some((role) => issue.versions[role] < mark[role])
}

/**
 * Adds the mark of accepted files. Beyond `most`, the view with the oldest issue loses its mark,
 * and the floor rises above that issue: older versions of the view were issued before it.
 */
export function withMark(
  { marks, marks_floor_ms }: ViewMarks,
  { view, versions, issuedMs }: Issue,
  most = MAX_MARKS,
): ViewMarks {
  const former = Object.hasOwn(marks, view) ? marks[view]?.issued_ms : undefined
  const mark = { ...versions, issued_ms: Math.max(issuedMs, former ?? 0) }
  const others = Object.entries(marks)
    .filter(([id]) => id !== view)
    .toSorted(([, a], [, b]) => b.issued_ms - a.issued_ms)
  const dropped = others.slice(most - 1)
  return {
    marks: Object.fromEntries([...others.slice(0, most - 1), [view, mark]]),
    marks_floor_ms: Math.max(
      marks_floor_ms,
      ...dropped.map(([, gone]) => gone.issued_ms + CLOCKS_APART_MS),
    ),
  }
}

/** Whether `one` refuses an issue that `other` accepts. */
export function knowsMoreMarks(one: ViewMarks, other: ViewMarks): boolean {
  if (one.marks_floor_ms > other.marks_floor_ms) return true
  return Object.entries(one.marks).some(([view, mark]) => {
    const known = Object.hasOwn(other.marks, view) ? other.marks[view] : undefined
    if (known !== undefined) return ROLES.some((role) => mark[role] > known[role])
    // The floor covers marks that were dropped.
    return mark.issued_ms + CLOCKS_APART_MS > other.marks_floor_ms
  })
}
