/** What the process answers with; part of the command's stable surface. */
export const EXIT = {
  /** Done; for `check` and `explain`: allowed. */
  ok: 0,
  /** The thing asked for failed; for `check` and `explain`: denied. */
  failed: 1,
  /** Wrong usage, or nothing could be evaluated. */
  usage: 2,
  /** For `plan --exit-code`: something would change. */
  changes: 3,
  /** For `check` and `explain`: the address decides, and none is known. */
  open: 3,
  /** A defect of this program. */
  bug: 70,
  /** Broken or missing configuration, such as credentials. */
  configuration: 78,
} as const
