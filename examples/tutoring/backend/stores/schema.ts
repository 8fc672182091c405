/** The tables of the backend. The AI engine uses some of them, and creates none. */
export const schema = `
  CREATE TABLE IF NOT EXISTS exercise (
    id TEXT PRIMARY KEY, statement TEXT NOT NULL, subdomain_code TEXT NOT NULL,
    grade_level INTEGER NOT NULL, target_error_code TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS guide (
    id TEXT PRIMARY KEY, teacher_id TEXT NOT NULL, source_pdf_key TEXT NOT NULL,
    course_grade_level INTEGER NOT NULL, status TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS guide_question (
    id TEXT PRIMARY KEY, guide_id TEXT NOT NULL REFERENCES guide, position INTEGER NOT NULL,
    statement TEXT NOT NULL, UNIQUE (guide_id, position)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS guide_solution (
    guide_question_id TEXT NOT NULL REFERENCES guide_question, version INTEGER NOT NULL,
    latex_steps TEXT NOT NULL, trace_id TEXT NOT NULL,
    PRIMARY KEY (guide_question_id, version), UNIQUE (guide_question_id, trace_id)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS guide_submission (
    id TEXT PRIMARY KEY, student_id TEXT NOT NULL,
    guide_question_id TEXT NOT NULL REFERENCES guide_question, solution_version INTEGER NOT NULL,
    photo_keys TEXT NOT NULL, trace_id TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS attempt (
    id TEXT PRIMARY KEY, student_id TEXT NOT NULL, exercise_id TEXT REFERENCES exercise,
    guide_question_id TEXT REFERENCES guide_question,
    guide_submission_id TEXT UNIQUE REFERENCES guide_submission, input_mode TEXT NOT NULL,
    latex_steps TEXT NOT NULL, is_correct INTEGER NOT NULL, error_tag_id TEXT,
    classifier_source TEXT NOT NULL, confidence REAL, provider TEXT, alignment_summary TEXT,
    trace_id TEXT NOT NULL
  ) STRICT;`
