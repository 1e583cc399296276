import { createAccessAnswers, type AccessAnswers } from './access-answers.ts'
import {
  createAccessQuestions,
  type AccessQuestions,
  type AccessQuestionsDeps,
} from './access-questions.ts'
import { createReviews, type ReviewsDeps } from './review-access.ts'

export type AccessServiceDeps = AccessQuestionsDeps & ReviewsDeps

/** Requests for access, and their answers. Every method throws ApiError. */
export interface AccessService extends AccessQuestions, AccessAnswers {}

export function createAccessService(deps: AccessServiceDeps): AccessService {
  const review = createReviews(deps)
  return { ...createAccessQuestions(deps, review), ...createAccessAnswers(deps, review) }
}
