/**
 * The part of `fetch` that the client needs. The global one fits, and so do lighter ones. It must
 * not follow redirects.
 */
export type Fetch = (url: string, request: FetchRequest) => Promise<FetchAnswer>

export interface FetchRequest {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer> | null
  readonly redirect: 'manual'
  /**
   * Aborts the whole exchange, including the body. The error is named `AbortError` or
   * `TimeoutError`.
   */
  readonly signal: AbortSignal
}

export interface FetchAnswer {
  readonly status: number
  /** Headers by name. Repeated headers are joined with commas. */
  readonly headers: { get(name: string): string | null }
  readonly body: AnswerBody | null
}

/** Leaving the loop early closes the connection, unless the body is complete. */
export interface AnswerBody extends AsyncIterable<Uint8Array> {
  cancel(): Promise<void>
}
