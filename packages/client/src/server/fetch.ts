/**
 * As much of `fetch` as is asked of a server here: the global one fits, and so does a lighter one.
 * Redirects must not be followed.
 */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchAnswer>

export interface FetchRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | null
  readonly redirect: 'manual'
  /**
   * Ends the whole exchange, body included; what it rejects with is named `AbortError` or
   * `TimeoutError`.
   */
  readonly signal: AbortSignal
}

export interface FetchAnswer {
  readonly status: number
  /** By name; what comes more than once is joined with commas. */
  readonly headers: { get(name: string): string | null }
  readonly body: AnswerBody | null
}

/** Leaving the loop early ends the connection, unless all of it has come. */
export interface AnswerBody extends AsyncIterable<Uint8Array> {
  cancel(): Promise<void>
}
