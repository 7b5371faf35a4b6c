
# The features of a column: a row each, in units of 1; a cell that cannot be used is a row of zeros, or, where
# the column has an indicator, its last feature.
features_of <- function(column, cells) {
  made <- matrix(0, nrow = length(cells), ncol = column$width)
  if (is.factor(cells)) cells <- as.character(cells)
  if (column$kind == "text category") {
    raw <- enc2utf8(as.character(cells))
    key <- raw
    if (column$trim) key <- gsub("^[ \\t\\n\\r\\x0b\\f]+|[ \\t\\n\\r\\x0b\\f]+$", "", key, perl = TRUE)
    if (nchar(column$large)) key <- ifelse(is.na(key), NA, chartr(column$large, column$lower, key))
    place <- match(if (column$letters) raw else key, column$labels, incomparables = NA)
    absent <- is.na(place) & (is.na(raw) | key %in% column$missing)
    found <- which(!is.na(place))
    made[cbind(found, place[found])] <- 1
  } else if (column$kind == "date") {
    if (!inherits(cells, c("Date", "POSIXt"))) stop("column ", column$source, " must be Date or POSIXct.")
    moment <- as.POSIXlt(cells, tz = "UTC")
    value <- switch(column$part,
      month = moment$mon + 1, quarter = moment$mon %/% 3 + 1, hour = moment$hour + 1,
      weekday = ifelse(moment$wday == 0, 7, moment$wday), year = moment$year + 1900)
    absent <- is.na(value)
    found <- which(!absent)
    if (is.na(column$low)) {
      made[cbind(found, value[found])] <- 1
    } else {
      middle <- (column$low + column$high) / 2
      reach <- (column$high - column$low) / 2
      made[found, 1] <- pmax(-1, pmin(1, (value[found] - middle) / reach))
    }
  } else {
    x <- suppressWarnings(as.numeric(cells))
    absent <- is.na(x) | x %in% column$missing
    found <- which(!absent)
    x <- x[found]
    if (column$kind == "number category") {
      absent <- absent & !(suppressWarnings(as.numeric(cells)) %in% column$labels)
      x <- suppressWarnings(as.numeric(cells))
      place <- match(x, column$labels, incomparables = c(NA, NaN))
      found <- which(!is.na(place))
      made[cbind(found, place[found])] <- 1
    } else if (column$kind == "binned") {
      made[cbind(found, findInterval(x, column$edges) + 1)] <- 1
    } else {
      inside <- pmin(pmax(x, column$low), column$high)
      moved <- switch(column$transform, log1p = log1p(inside), sqrt = sqrt(inside), inside)
      if (column$kind == "numeric") {
        made[found, 1] <- pmax(-1, pmin(1, (moved - column$centre) / column$scale))
      } else {
        ends <- column$breaks
        place <- findInterval(moved, ends[-c(1, length(ends))]) + 1
        step <- moved - ends[place]
        for (basis in seq_len(dim(column$pieces)[2])) {
          piece <- matrix(column$pieces[place, basis, ], nrow = length(place))
          made[found, basis] <- piece[, 1] + step * (piece[, 2] + step * (piece[, 3] + step * piece[, 4]))
        }
      }
    }
  }
  if (column$indicator) made[which(absent), column$width] <- 1
  made
}

# type "link": scores, one a row, or one a row and class where there are more than two. "response": the number,
# the expected count, or the chance of each class. "class": the class with the largest score.
predict.sottovoce_model <- function(object, newdata, type = c("response", "link", "class"), ...) {
  type <- match.arg(type)
  wanted <- unique(vapply(object$columns, function(column) column$source, ""))
  lacking <- setdiff(wanted, names(newdata))
  if (length(lacking)) stop("newdata has no column ", paste(lacking, collapse = ", "), ".")
  scores <- matrix(object$constants, nrow = nrow(newdata), ncol = length(object$constants), byrow = TRUE)
  features <- lapply(object$columns, function(column) features_of(column, newdata[[column$source]]))
  for (block in object$blocks) {
    first <- features[[block$columns[1]]]
    for (output in seq_along(object$constants)) {
      if (length(block$columns) == 1) {
        added <- first %*% block$weights[output, ]
      } else {
        second <- features[[block$columns[2]]]
        across <- matrix(block$weights[output, , ], nrow = ncol(first))
        added <- rowSums((first %*% across) * second)
      }
      scores[, output] <- scores[, output] + added
    }
  }
  if (ncol(scores) > 1) colnames(scores) <- object$classes
  if (type == "link") return(if (ncol(scores) == 1) scores[, 1] else scores)
  if (is.null(object$classes)) {
    if (type == "class") stop("this model predicts a number.")
    return(if (is.na(object$highest)) scores[, 1] else pmin(exp(scores[, 1]), object$highest))
  }
  if (type == "class") {
    if (ncol(scores) == 1) return(object$classes[1 + (scores[, 1] > 0)])
    return(object$classes[max.col(scores, ties.method = "first")])
  }
  if (!object$probabilities) stop("this model gives no probabilities: ask for type = \"class\".")
  if (ncol(scores) == 1) scores <- cbind(0, scores)
  powers <- exp(scores - apply(scores, 1, max))
  chances <- powers / rowSums(powers)
  colnames(chances) <- object$classes
  chances
}

# Where inference was asked for, estimates: NA where one is not determined. Else the weights of predict(), which
# are always in model$weights.
coef.sottovoce_model <- function(object, ...) object$coefficients

vcov.sottovoce_model <- function(object, ...) {
  if (is.null(object$vcov)) stop("no part of the budget was kept for inference.")
  object$vcov
}

# by Student's distribution, as the noise in the covariance asks: R's own method would take the normal one
confint.sottovoce_model <- function(object, parm, level = 0.95, ...) {
  ends <- c((1 - level) / 2, (1 + level) / 2)
  values <- coef(object)
  reach <- outer(sqrt(diag(vcov(object))), rep(1, 2)) * sapply(ends, qt, df = object$df)
  found <- values + matrix(reach, ncol = 2)
  dimnames(found) <- list(names(values), paste(format(100 * ends, trim = TRUE, digits = 3), "%"))
  if (missing(parm)) found else found[parm, , drop = FALSE]
}

summary.sottovoce_model <- function(object, ...) {
  if (is.null(object$estimates)) object$coefficients else object$estimates
}

print.sottovoce_model <- function(x, ...) {
  cat("Private model of ", x$target, "\nGuarantee: ", x$facts[["guarantee"]], "\n\n", sep = "")
  print(if (is.null(x$estimates)) x$coefficients else x$estimates, row.names = FALSE)
  invisible(x)
}
