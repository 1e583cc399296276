import { ApiError } from '../platform/api-error.ts'
import { StoreError } from '../store/store-error.ts'

/** An error as data: the copy of an Error loses its class and its members. */
export type Failure =
  | ({ readonly kind: 'refused' } & Pick<ApiError, RefusalMember>)
  | ({ readonly kind: 'store' } & Pick<StoreError, 'code' | 'message' | 'subject'>)
  | { readonly kind: 'other'; readonly message: string; readonly stack: string }

type RefusalMember = 'code' | 'field' | 'headers' | 'message' | 'reason' | 'status'

export function encodeFailure(error: unknown): Failure {
  if (error instanceof ApiError) {
    const { status, code, message, reason, field, headers } = error
    return { kind: 'refused', status, code, message, reason, field, headers }
  }
  if (error instanceof StoreError) {
    const { code, message, subject } = error
    return { kind: 'store', code, message, subject }
  }
  const { message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  return { kind: 'other', message, stack }
}

export function decodeFailure(failure: Failure): Error {
  switch (failure.kind) {
    case 'refused': {
      const { status, code, message, ...options } = failure
      return new ApiError(status, code, message, options)
    }
    case 'store': {
      const { code, message, subject } = failure
      return new StoreError(code, message, subject === null ? {} : { subject })
    }
    case 'other':
      return Object.assign(new Error(failure.message), { stack: failure.stack })
  }
}
