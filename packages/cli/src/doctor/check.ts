/** The result of one check. */
export interface Check {
  /** Stable, such as `proxy` or `program:curl`. */
  readonly name: string
  /** `skip`: the check does not apply here, such as one of a program that is not installed. */
  readonly outcome: 'ok' | 'warn' | 'fail' | 'skip'
  readonly detail: string
  /** How to mend it; null when there is no need. */
  readonly mend: string | null
}

export function ok(name: string, detail: string): Check {
  return { name, outcome: 'ok', detail, mend: null }
}

export function warn(name: string, detail: string, mend: string): Check {
  return { name, outcome: 'warn', detail, mend }
}

export function fail(name: string, detail: string, mend: string): Check {
  return { name, outcome: 'fail', detail, mend }
}

export function skip(name: string, detail: string): Check {
  return { name, outcome: 'skip', detail, mend: null }
}
