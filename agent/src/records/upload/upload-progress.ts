import type { RecordPosition, UploadStatus } from '@palisade/protocol'

type Progress = Omit<UploadStatus, 'mode'>

/** The part of the upload that `palisade status` shows. */
export interface UploadProgress {
  /** The server has told its position, after which that many lines wait. */
  begin(position: RecordPosition | null, waiting: number): void
  add(lines: number): void
  /** The server has confirmed that many lines; with null all lines but `others`. */
  cover(position: RecordPosition | null, lines: number | null, others?: number): void
  fail(fault: { readonly code: string; readonly message: string }): void
  settle(): void
  /** Call when the settings have turned the upload off. */
  end(): void
  read(): Progress
}

/** `now` returns epoch milliseconds. */
export function createUploadProgress(now: () => number): UploadProgress {
  let acknowledged: Progress['acknowledged'] = null
  let waiting: Progress['waiting'] = null
  let last_error: Progress['last_error'] = null

  const instant = (): string => new Date(now()).toISOString()
  const confirm = (position: RecordPosition | null): void => {
    if (position === null) return
    acknowledged = { at: instant(), boot: position.boot, seq: position.seq }
  }

  return {
    begin(position, lines) {
      confirm(position)
      waiting = lines
    },
    add(lines) {
      if (waiting !== null) waiting += lines
    },
    cover(position, lines, others = 0) {
      confirm(position)
      waiting = lines === null ? others : Math.max(0, (waiting ?? 0) - lines)
    },
    fail({ code, message }) {
      last_error = { at: instant(), code, message }
    },
    settle() {
      last_error = null
    },
    end() {
      waiting = null
      last_error = null
    },
    read: () => ({ acknowledged, waiting, last_error }),
  }
}
